"""What is read of Harbor's files and said of them, and what the stand-in for a model answers: whole words, at the edges."""

from __future__ import annotations

import json
import subprocess
import tarfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from tracebench_core.contracts import EvaluationFailed, NotMeasured
from tracebench_core.errors import UsageError
from tracebench_core.proposing.answer_format import render_values
from tracebench_core.specs import Example
from tracebench_terminalbench import catalog, invariants
from tracebench_terminalbench.catalog import TOYS, Case, cases_of, found, listed, loader_name, task_name
from tracebench_terminalbench.harbor_side.tracebench_harbor.dockerfile import (
    NotUnderstoodError,
    read_dockerfile,
    variables,
)
from tracebench_terminalbench.harbor_side.tracebench_harbor.users import User, find_user
from tracebench_terminalbench.job_config import Model, dataset, grace, job_config, needs_door
from tracebench_terminalbench.launch import Ended, _tail
from tracebench_terminalbench.loading import build
from tracebench_terminalbench.oci.layers import words_of
from tracebench_terminalbench.oci.mapped import MappedError
from tracebench_terminalbench.oci.needed import _source
from tracebench_terminalbench.oci.sources import Source, find_source, full_name, references, split_place
from tracebench_terminalbench.options import Options
from tracebench_terminalbench.program import STARTED, from_start, is_optimized, is_program
from tracebench_terminalbench.rules import CHECK, HEADED, LOOK, PLAYS, REPAIRS, answer
from tracebench_terminalbench.subject import parameter, write_subject
from tracebench_terminalbench.task import TerminalTask, _model, _outcome, _seconds, _waves
from tracebench_terminalbench.template import template_problem, with_advice
from tracebench_terminalbench.trajectory import _row
from tracebench_terminalbench.transcript import clipped, digest, steps, transcript
from tracebench_terminalbench.trials import Trial, read_trial, read_trials


def trial_of(folder: Path, data: Any = None, **files: str) -> Trial:
    folder.mkdir(exist_ok=True)
    if data is not None:
        (folder / "result.json").write_text(data if isinstance(data, str) else json.dumps(data))
    for name, text in files.items():
        (folder / name.replace("__", "-").replace("_", ".")).write_text(text)
    return read_trial(folder)


def failed(kind: str, message: Any = "m", **more: Any) -> dict[str, Any]:
    return {"exception_info": {"exception_type": kind, "exception_message": message}, **more}


def rewarded(**rewards: float) -> dict[str, Any]:
    return {"verifier_result": {"rewards": rewards}}


@pytest.mark.parametrize(
    ("data", "reward", "error", "suspect", "timed_out"),
    [
        (rewarded(reward=0.0), 0.0, "", False, False),
        (rewarded(speed=0.5), 0.5, "", False, False),
        (rewarded(speed=0.5, size=1.0), None, "the verifier wrote no reward", True, False),
        (rewarded(reward=1.0, size=2.0), 1.0, "", False, False),
        ({}, None, "the verifier wrote no reward", True, False),
        (rewarded() | failed("AgentTimeoutError", " late \n"), None, "AgentTimeoutError: late", True, True),
        (rewarded(reward=0.5) | failed("AgentTimeoutError"), 0.5, "AgentTimeoutError: m", True, True),
        (rewarded(reward=0.5) | failed("ContextLengthExceededError"), 0.5, "ContextLengthExceededError: m", True, False),
        (rewarded(reward=0.5) | failed("RuntimeError"), None, "RuntimeError: m", False, False),
        (rewarded(reward=0.5) | failed("Strange", None), None, "Strange:", True, False),
        (rewarded(reward=0.5) | {"step_results": [{}, failed("OSError", "x" * 3_000)]}, None, f"OSError: {'x' * 1_991}", False, False),
        (rewarded(reward=float("inf")), None, "the verifier wrote inf, which is no number to compare", True, False),
    ],
)  # fmt: skip
def test_what_a_trial_measured(  # noqa: PLR0917 - columns of the table
    tmp_path: Path, data: dict[str, Any], reward: float | None, error: str, suspect: bool, timed_out: bool
) -> None:
    told = trial_of(tmp_path / "fix-it__abc", data)
    assert (told.slug, told.reward, told.error.strip(), told.suspect, told.timed_out) == (
        "fix-it",
        reward,
        error,
        suspect,
        timed_out,
    )


def test_what_a_trial_used_and_where_its_files_are(tmp_path: Path) -> None:
    used = {"n_input_tokens": 5, "n_output_tokens": None, "metadata": {"n_episodes": 2}}
    told = trial_of(tmp_path / "a__b", rewarded(reward=1.0, size=float("nan")) | {"agent_result": used})
    assert (told.usage, told.rewards) == ({"prompt_tokens": 5.0, "turns": 2.0}, {"reward": 1.0})
    assert told.at(Path("/x")).program_log == Path("/x/agent/program.txt")
    assert told.trajectory == tmp_path / "a__b/agent/trajectory.json"
    assert told.verifier_output == tmp_path / "a__b/verifier/test-stdout.txt"


def test_a_trial_that_cannot_be_read_is_told_by_its_task(tmp_path: Path) -> None:
    cut = trial_of(tmp_path / "a__b", config_json='{"task": {"path": "/x/real"}}')
    assert (cut.slug, cut.reward, cut.error) == ("real", None, "the trial was cut off before it wrote a result")
    named = trial_of(tmp_path / "c__d", "[1]", config_json='{"task": {"name": "org/named"}}')
    assert named.slug == "named"
    assert named.error.startswith("its result cannot be read: AttributeError")
    for broken in ("{", "[]", '{"task": 1}', "{}"):
        assert trial_of(tmp_path / "long__name__d", {}, config_json=broken).slug == "long__name"
    assert [trial.slug for trial in read_trials(tmp_path)] == ["real", "named", "long__name"]


def test_time_that_went_by_without_a_model_is_no_zero(tmp_path: Path) -> None:
    late = failed("AgentTimeoutError") | rewarded(reward=0.0)
    lines = f"x Unknown Error in LLM interaction 1\ny Unknown Error in LLM interaction 2{'z' * 3_000}\nlast"
    for asked, answered, kind in ((2, [1], True), (1, [1], False), (0, [], False)):
        told = {"agent_result": {"metadata": {"n_episodes": asked, "api_request_times_msec": answered}}}
        trial = trial_of(tmp_path / f"a__{asked}", late | told, trial_log=lines)
        assert (trial.reward, trial.timed_out) == ((None, False) if kind else (0.0, True))
        if kind:
            words = f"y Unknown Error in LLM interaction 2{'z' * 3_000}"[:2_000]
            assert trial.error == f"the agent's time was over while its model was away: {words}"
            assert not trial.suspect
    away = trial_of(tmp_path / "b__c", late, model__away_txt="gone")
    assert away.error == "the agent's time was over while its model was away: gone"
    full = trial_of(tmp_path / "d__e", failed("OSError", "no room"), disk__full_txt="")
    assert (full.error, full.suspect) == (
        "its disk is full, of what the agent wrote (`storage_mb`): OSError: no room",
        True,
    )
    assert trial_of(tmp_path / "f__g", failed("Strange"), disk__full_txt="").error == "Strange: m"


STEPS = [
    {"source": "user", "step_id": 1, "message": "do"},
    {"source": "agent", "step_id": 2, "message": " I look. ",
     "tool_calls": [{"arguments": {"keystrokes": "ls\ncat\n"}}, {"function_name": "f", "arguments": {"a": 1}}],
     "observation": {"results": [{"content": "one\n\n two"}, {"content": None}]}},
    "no step",
    {"source": "agent", "step_id": 3, "message": None},
]  # fmt: skip


def written(tmp_path: Path, *, more: int = 0) -> Trial:
    (tmp_path / "agent").mkdir()
    (tmp_path / "verifier").mkdir()
    said = [*STEPS, *({"source": "agent", "step_id": 4 + n, "message": "m" * 900} for n in range(more))]
    (tmp_path / "agent/trajectory.json").write_text(json.dumps({"steps": said}))
    (tmp_path / "verifier/test-stdout.txt").write_text("ok\nbad")
    return Trial(tmp_path, "fix", 0.5, rewards={"reward": 0.5, "b": 2.0, "a": 1.0}, timed_out=True)


def test_a_trial_is_written_out_step_by_step(tmp_path: Path) -> None:
    trial = written(tmp_path)
    assert transcript(trial) == (
        'task fix: reward 0.5 (a 1, b 2); the agent ran out of time\n\n[2] agent: I look.\n  $ ls\n  $ cat\n  $ f {"a": 1}\n  | one\n'
        "  |  two\n[3] agent: \n\nverifier:\n  ok\n  bad\n"
    )
    assert digest(trial) == (
        "Task fix: reward 0.5 (a 1, b 2); the agent ran out of time\nLast steps of the agent:\n[2] agent: I look.\n  $ ls\n  $ cat\n"
        '  $ f {"a": 1}\n  | one\n  |  two\n[3] agent: \nChecks:\nok\nbad'
    )
    assert [step["step_id"] for step in steps(trial.trajectory)] == [2, 3]
    assert _row(STEPS[1]) == {
        "step": 2,
        "by": "agent",
        "said": " I look. ",
        "typed": "ls\ncat\n\n",
        "shown": "one\n\n two\n",
    }  # type: ignore[arg-type]


def test_what_was_not_written_is_told_or_left_out(tmp_path: Path) -> None:
    trial = Trial(tmp_path, "fix", None, error="gone")
    assert (
        transcript(trial) == "task fix: not measured: gone\n\n(no trajectory was written)\n\nverifier:\n  (no output)\n"
    )
    assert digest(trial) == "Task fix: not measured: gone"
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent/program.txt").write_text("a\nb")
    assert transcript(trial) == "task fix: not measured: gone\n\na\nb\n\nverifier:\n  (no output)\n"
    assert digest(trial) == "Task fix: not measured: gone\nLast steps of the agent:\na\nb"


def test_a_digest_has_the_last_steps_and_is_bounded(tmp_path: Path) -> None:
    trial = written(tmp_path, more=6)
    (tmp_path / "verifier/test-stdout.txt").write_text("x" * 500 + "y" * 200)
    told = digest(trial, last=2, characters=600)
    assert "[7]" not in told
    assert told.count("[8] agent: ") == told.count("[9] agent: ") == 1
    assert told.endswith("Checks:\n" + "y" * 200)
    assert max(len(line) for line in told.splitlines() if line.startswith("[")) == len("[8] agent: ") + 600 // 4 - 1
    assert [clipped(text, 7) for text in ("abcdefg", "abcdefgh", "")] == ["abcdefg", "ab … gh", ""]
    assert clipped("abcdef", 1) == "a … f"


def values_of(reply: str) -> Any:
    return json.loads(reply)


def asked(prompt: str, *more: tuple[str, str]) -> Any:
    return values_of(
        answer([{"role": "user", "content": prompt}, *({"role": role, "content": text} for role, text in more)])
    )


@pytest.mark.parametrize("play", PLAYS, ids=[play.marker for play in PLAYS])
def test_the_stand_in_is_careful_where_it_is_advised_and_once(play: Any) -> None:
    def turn(analysis: str, *commands: str, done: bool = False) -> Any:
        typed = [{"keystrokes": f"{command}\n", "duration": 0.3} for command in commands]
        return {"analysis": analysis, "plan": "Run the commands.", "commands": typed, "task_complete": done}

    without = {LOOK: "without a look", CHECK: "without a check"}
    if play.needs:
        assert asked(f"x {play.marker}") == turn(f"I write the answer {without[play.needs]}.", play.careless)
    careful = turn("I do as I am advised.", play.careful)
    assert asked(f"{play.needs.capitalize()}. {play.marker}") == careful
    assert asked(play.marker, ("assistant", "x"), ("user", "y")) == turn("The work is done.", done=True)
    assert asked("another task") == turn("The work is done.", done=True)


@pytest.mark.parametrize("play", PLAYS, ids=[play.marker for play in PLAYS])
def test_the_stand_in_plays_the_small_agents_model(play: Any) -> None:
    def step(task: str, *more: str) -> Any:
        texts = ["You work in a terminal, in the folder of a task", task, *more]
        return values_of(answer([{"role": "user", "content": [{"text": text}]} for text in texts]))

    def done(thought: str, *commands: str) -> Any:
        return {"thought": thought, "commands": [*commands], "done": True}

    careful, idle = done("I do as I see.", play.careful), done("The work is done.")
    careless = {
        LOOK: done("I write the answer without a look.", play.careless),
        CHECK: done("I write the answer without a check.", play.careless),
    }
    assert step(play.marker) == (careless[play.needs] if play.needs else careful)
    assert step(f"{play.marker} {HEADED}") == (careful if play.needs in {"", LOOK} else careless[CHECK])
    assert step(play.marker, f"{HEADED}x") == (careful if play.needs in {"", CHECK} else idle)
    assert step(play.marker, "x") == step("other") == idle


def test_the_stand_in_adds_the_rule_that_the_transcript_gives_away() -> None:
    def advised(current: Any, transcript: str) -> Any:
        shown = f"{render_values({'advice': current})}\n{transcript}"
        told = values_of(answer([{"role": "system", "content": None}, {"role": "user", "content": shown}]))
        assert told["reasoning"] == "A rule, not a thought."
        return told["values"]["advice"]

    assert advised("", "without a look, without a check") == "Look into a file before you change it."
    assert advised("Look into a file before you change it.", "without a look, without a check") == (
        "Look into a file before you change it.\nCheck your work before you are done."
    )
    assert advised("x", "all is well") == "x"
    lines, repaired = REPAIRS[CHECK]
    assert advised({"main.py": f"a{lines}b", "c": "d"}, "without a check") == {"main.py": f"a{repaired}b", "c": "d"}
    assert advised({"main.py": f"a{lines}b"}, "without a look") == {"main.py": f"a{lines}b"}
    assert advised({"c": "d"}, "without a look") == {"c": "d", "main.py": ""}


def test_places_of_images_are_named_in_full() -> None:
    assert [full_name(name) for name in ("debian", "debian:12", "me/x", "ghcr.io/me/x", "localhost/x", "h:5000/x", "me/x@sha256:1",
    "h:5/x:1")] == [
        "docker.io/library/debian:latest", "docker.io/library/debian:12", "docker.io/me/x:latest", "ghcr.io/me/x:latest",
        "localhost/x:latest",
        "h:5000/x:latest", "docker.io/me/x@sha256:1", "h:5/x:1",
    ]  # fmt: skip
    none: dict[str, str] = {}
    insecure = ("--tls-verify=false",)
    assert find_source("debian", images=none, registry=None) == Source("docker://docker.io/library/debian:latest")
    assert find_source("debian", images=none, registry="127.0.0.1:5000") == Source(
        "docker://127.0.0.1:5000/library/debian:latest", insecure
    )
    assert find_source("localhost:5/x", images=none, registry=None) == Source("docker://localhost:5/x:latest", insecure)
    assert find_source("localhost.org/x", images=none, registry=None) == Source("docker://localhost.org/x:latest")
    assert find_source("x", images={"docker.io/library/x": "docker-daemon:y"}, registry=None) == Source(
        "docker-daemon:y"
    )


def test_a_place_on_disk_may_have_a_tag(tmp_path: Path) -> None:
    layout = tmp_path / "layout"
    layout.mkdir()
    (layout / "oci-layout").write_text("{}")
    for written, name in ((str(layout), f"oci:{layout}"), (f"{layout}:1", f"oci:{layout}:1")):
        assert find_source("x", images={"x": written}, registry=None).name == name
    for inside, kind in (("oci-layout", "oci-archive"), ("manifest.json", "docker-archive")):
        path = tmp_path / f"{kind}.tar"
        with tarfile.open(path, "w") as archive:
            archive.add(layout / "oci-layout", inside)
        assert find_source("x", images={"x": f"{path}:t"}, registry=None).name == f"{kind}:{path}:t"
        assert find_source("x", images={"x": str(path)}, registry=None).name == f"{kind}:{path}"
    for place in (str(tmp_path), "gone", str(layout / "oci-layout")):
        with pytest.raises(
            MappedError, match=rf"^`{place}` is no image: neither a folder in OCI's layout nor a file of `docker save`$"
        ):
            find_source("x", images={"x": place}, registry=None)
    (tmp_path / "a:b").mkdir()
    assert [split_place(place) for place in ("x", ":x", "x:y", str(tmp_path / "a:b"))] == [
        ("x", ""),
        (":x", ""),
        ("x", "y"),
        (str(tmp_path / "a:b"), ""),
    ]


def test_images_of_a_dockerfile() -> None:
    text = (
        "ARG BASE='debian:12'\nARG BASE=other\nFROM --platform=x ${BASE} AS Build\nCOPY --from=build a b\nCOPY --chown=1 --from=tools:1 "
        "a b\n"
        "RUN --mount=type=bind,from=cache:2,source=x y\nRUN cat <<EOF\nFROM no\nEOF\nCOPY --from=0 a b\nFROM ${GONE:-alpine}\nFROM "
        "scratch\n"
        "RUN echo --from=said\nADD \\\n --from=last:3 a b\n"
    )
    assert references(text) == {
        "${BASE}": "debian:12", "tools:1": "tools:1", "cache:2": "cache:2", "${GONE:-alpine}": "alpine", "last:3": "last:3",
    }  # fmt: skip
    assert words_of(()) == ""
    assert (
        words_of(("a", "b", "c"))
        == "3 device nodes of the image (a, b, c) are empty files, and all its files are root's"
    )
    assert words_of(("a", "b", "c", "d")).startswith("4 device nodes of the image (a, b, c, …) are")


ACCOUNTS = "root:x:0:0:root:/root:/bin/sh\nbroken:x:1\nodd:x:a:1:o:/o:s\nme:x:1000:1001:Me::/bin/sh\n"


@pytest.mark.parametrize(
    ("written", "user"),
    [
        ("root", User(0, 0, "/root")), ("me", User(1000, 1001, "/")), ("1000", User(1000, 1001, "/")), ("me:7", User(1000, 7, "/")),
        ("me:staff", User(1000, 1001, "/")), ("77", User(77, 0, "/")), ("77:8", User(77, 8, "/")), ("broken", None), ("odd", None),
        ("gone", None),
    ],
)  # fmt: skip
def test_who_a_command_runs_as(written: str, user: User | None) -> None:
    assert find_user(written, ACCOUNTS) == user


def test_what_of_a_dockerfile_needs_no_image(tmp_path: Path) -> None:
    folder = tmp_path / "environment"
    folder.mkdir()
    assert read_dockerfile(folder) == []
    file, task = folder / "Dockerfile", tmp_path / "task.toml"
    file.write_text("# x\n\nworkdir /app\nENV A=1 \\\n B=2\nRUN  x\n")
    assert read_dockerfile(folder) == [("WORKDIR", "/app"), ("ENV", "A=1   B=2"), ("RUN", "x")]
    file.write_text("RUN a && \\ \n  # of b\n# and c\n  b\n # end\nRUN echo # d")
    assert read_dockerfile(folder) == [("RUN", "a &&    b"), ("RUN", "echo # d")]

    def refused() -> str:
        with pytest.raises(NotUnderstoodError) as caught:
            read_dockerfile(folder)
        return str(caught.value)

    needs = (
        "needs an image, and so `harbor_env: docker`: `local` has this machine's own system, which only a task with `host_compatible = "
        "true` "
        "under `[metadata]` of its task.toml may take instead"
    )
    file.write_text("FROM debian\n")
    assert refused() == f"`FROM debian` in Dockerfile {needs}"
    task.write_text('[environment]\ndocker_image = "x"\n')
    assert refused() == f'`docker_image = "x"` in task.toml {needs}'
    task.write_text('[metadata]\nhost_compatible = true\n[environment]\ndocker_image = "x"\n')
    assert read_dockerfile(folder) == [("FROM", "debian")]
    for line in ("HEALTHCHECK x", "COPY --from=a b c"):
        file.write_text(f"{line}\n")
        assert refused() == f"`{line}` in Dockerfile needs `harbor_env: docker`; `local` does not follow it"
    task.write_text("=")
    assert refused().startswith(f"`{task}` cannot be read: ")
    file.write_text("RUN x\n")
    task.write_text("metadata = 3\nenvironment = [1]\n")
    assert read_dockerfile(folder) == [("RUN", "x")]
    (folder / "docker-compose.yml").write_text("")
    assert refused() == "a task with docker-compose needs `harbor_env: docker`; `local` runs a single sandbox"


@pytest.mark.parametrize(
    ("rest", "found"),
    [
        ("A=1   B='2 3'", {"A": "1", "B": "2 3"}), ("A=", {"A": ""}), ("A one two=3", {"A": "one two=3"}),
        ("PATH=/opt/bin:$PATH C=${X}y$Z", {"PATH": "/opt/bin:/bin", "C": "xy"}), ("PATH /opt/bin:${PATH}", {"PATH": "/opt/bin:/bin"}),
    ],
)  # fmt: skip
def test_what_an_env_sets(rest: str, found: dict[str, str]) -> None:
    assert variables(rest, {"PATH": "/bin", "X": "x"}) == found


@pytest.mark.parametrize(
    ("text", "words"), [("environment = 3", "has neither"), ("[environment]\ndocker_image = 3", "is no name")]
)
def test_a_task_that_names_no_image_is_told(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "task.toml").write_text(text)
    with pytest.raises(MappedError, match=words):
        _source(tmp_path)


def test_paths_of_a_config_are_meant_from_where_the_run_was_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert from_start("a/b") == str(STARTED / "a/b")
    assert from_start("/a") == "/a"
    assert from_start(None) is None
    monkeypatch.setenv("HOME", "/h")
    assert from_start("~/a") == "/h/a"


@pytest.mark.parametrize(
    "settings",
    [
        {"agent_command": " "}, {"agent_command": "python3 'x"}, {"agent_files": ["*", ""]}, {"agent_kwargs": {"parser_name": "yaml"}},
        {"agent_kwargs": {"parser_name": ["json"]}}, {"harbor_env": "oci", "harbor_environment_kwargs": {"images": "x"}},
        {"harbor_env": "oci", "harbor_environment_kwargs": {"images": {"a": 1}}},
    ],
)  # fmt: skip
def test_settings_of_which_nothing_can_be_made_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Options(**settings)


def test_a_template_is_filled_in_or_told_why_not() -> None:
    frame = "Head\nTask Description:\n{instruction}{terminal_state}"
    assert with_advice(frame, " \n") == frame
    assert (
        with_advice(frame, " a {b} ")
        == "Head\nAdvice for this environment:\na {{b}}\n\nTask Description:\n{instruction}{terminal_state}"
    )
    assert with_advice("x {instruction}", "a") == "x \nAdvice for this environment:\na\n{instruction}"
    assert template_problem(frame) == ""
    assert template_problem("{terminal_state}") == "the template lacks {instruction}"
    assert template_problem("") == "the template lacks {instruction}, {terminal_state}"
    assert (
        template_problem("{x}") == "the template cannot be filled in (KeyError: 'x'); write a literal brace as {{ or }}"
    )


def test_what_is_optimised_is_written_for_a_job(tmp_path: Path) -> None:
    def write(optimize: str, value: Any, **more: Any) -> Any:
        options = Options(optimize=optimize, agent="terminus-2" if optimize != "files" else "folder", **more)  # type: ignore[arg-type]
        return write_subject(options, value, frame="{instruction}", folder=tmp_path)

    assert write("extra_instructions", " ") == write("skill", "") == {}
    assert write("extra_instructions", "x") == {"extra_instructions": ["x"]}
    (skill,) = write("skill", " Look. ")["skills"]
    assert Path(skill, "SKILL.md").read_text() == (
        "---\nname: working-in-the-terminal\ndescription: How to work in this environment. Read it before the first command.\n---\n\n"
        "Look.\n"
    )
    whole = write("template", "{instruction} {terminal_state}")["template"]
    assert (Path(whole).read_text(), Path(whole).parent, len(Path(whole).stem)) == (
        "{instruction} {terminal_state}",
        tmp_path,
        len("prompt-") + 12,
    )
    assert Path(write("advice", "a")["template"]).read_text() == "\nAdvice for this environment:\na\n{instruction}"
    with pytest.raises(EvaluationFailed) as caught:
        write("template", "{instruction}")
    assert (caught.value.feedback.status, caught.value.feedback.text) == (
        "invalid",
        "The template lacks {terminal_state}.",
    )
    lengths = {name: parameter(Options(optimize=name)).max_length for name in ("advice", "skill")}  # type: ignore[arg-type]
    assert lengths["advice"] is not None
    assert lengths["skill"] is not None
    assert lengths["advice"] < lengths["skill"]


def test_a_task_on_disk_and_one_of_the_data_set_in_one_job() -> None:
    cases = [Case("a", Path("/t/a")), Case("b")]
    options = Options(attempts=2, concurrency=3, harbor_dataset="terminal-bench@2.0")
    told = job_config(
        options,
        cases,
        name="n",
        folder=Path("/f"),
        subject={"template": "/t.txt", "skills": ("s",)},
        model=Model("http://h/v1", "m"),
    )
    assert told == {
        "job_name": "n", "jobs_dir": "/f", "n_attempts": 2, "n_concurrent_trials": 3, "quiet": True,
        "environment": {"type": "docker", "kwargs": {}},
        "agents": [{"model_name": "openai/m", "import_path": "tracebench_harbor.agent:TemplateTerminus2", "skills": ["s"],
                    "kwargs": {"record_terminal_session": False, "api_base": "http://h/v1", "prompt_template_path": "/t.txt"}}],
        "extra_instructions": [],
        "tasks": [{"path": "/t/a"}], "datasets": [{"name": "terminal-bench", "version": "2.0", "task_names": ["b"]}],
    }  # fmt: skip
    assert [dataset(name) for name in ("x", "x@1", "o/x", "o/x@1")] == [
        {"name": "x"}, {"name": "x", "version": "1"}, {"name": "o/x"}, {"name": "o/x", "ref": "1"},
    ]  # fmt: skip
    toy = [Case("hello-file", TOYS / "hello-file")]
    assert [grace(Options(), some) for some in (toy, cases)] == [1.0, 10.0]
    assert grace(Options(grace=3.0), toy) == 3.0
    assert [
        needs_door(Options(agent=agent, optimize="skill"))
        for agent in ("terminus-2", "my.module:Agent", "claude-code", "folder")
    ] == [False, False, True, True]
    assert [is_program(agent) for agent in ("folder", "preset:x", "terminus-2")] == [True, True, False]
    patterns = Options(agent_files=("*.py", "skills"))
    assert [is_optimized(name, patterns) for name in ("main.py", "a/b.py", "skills/x.md", "notes.md")] == [
        True,
        True,
        True,
        False,
    ]


def test_names_of_tasks_and_their_loaders() -> None:
    for name in ("toys", "toy/hello-file", "a.b_c-d9", "a--2d-_2d_", "Ab c", "\u65e5\u672c", "\U0001f600-1"):
        assert task_name(loader_name(name)) == name
    assert loader_name("a-b") == "task_a_2d_b"
    assert task_name("build") is None
    assert cases_of("demo")["test"] == [Case(catalog.DEMO[3])]
    assert cases_of("toy/x") == {"train": [Case("x", TOYS / "x")]}
    assert cases_of("unknown") == {"train": [Case("unknown")]}
    slug = "a" * 80
    assert found(slug) is not None
    assert found(slug + "a") is found("Ab") is found("-a") is None
    told = found("log-it")
    assert told is not None
    assert (told.title, told.tags, told.sizes.train, told.groups) == ("Log it", ("docker",), 1, ())
    names = [spec.name for spec in listed()]
    assert names[-5:] == [*catalog.DEMO, "demo"]


def test_tasks_of_a_root_are_listed_and_found(tmp_path: Path) -> None:
    for name in ("mine", "demo"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "task.toml").write_text("")
    try:
        catalog.configure({"options": {"root": str(tmp_path)}})
        specs = {spec.name: spec for spec in listed()}
        assert specs["mine"].groups == ("root",)
        assert [spec.name for spec in listed()].count("demo") == 1
        assert cases_of("mine") == {"train": [Case("mine", tmp_path / "mine")]}
    finally:
        catalog.configure({})
    assert cases_of("mine") == {"train": [Case("mine")]}
    with pytest.raises(UsageError) as caught:
        build("mine", harbor_task_path=str(tmp_path / "gone"))
    assert str(caught.value) == f"`harbor_task_path` is `{tmp_path / 'gone'}`, and there is no `mine/task.toml` in it."
    for path in (tmp_path, tmp_path / "mine"):
        task = build("mine", harbor_task_path=str(path))
        assert [example.input for example in task.splits["train"]] == [Case("mine", tmp_path / "mine")]
    with pytest.raises(UsageError) as caught:
        build("mine", agent="claude-code", harbor_env="docker", optimize="skill")
    assert str(caught.value).startswith(
        "`agent: claude-code` asks its model from inside of the sandbox, and `harbor_env: docker`"
    )


def trial(reward: float | None = 1.0, **more: Any) -> Trial:
    return Trial(Path("/x"), "s", reward, **more)


def test_the_score_of_an_example_is_the_mean_reward_of_its_trials() -> None:
    task = TerminalTask({"train": [Case("s")]}, Options())
    trials = [
        trial(0.0, usage={"turns": 2.0, "other": 1.0}),
        trial(0.5, usage={"turns": 3.0, "prompt_tokens": 7.0}, rewards={"reward": 0.5, "size": 4.0}, timed_out=True),
    ]
    told = task.guide(task.splits["train"][0], trials, cast("Any", None))
    assert (told.score, told.metrics) == (
        0.25, {"turns": 5.0, "reward": 0.25, "attempts": 2.0, "agent_timeouts": 1.0},
    )  # fmt: skip
    assert told.text == "Task s: reward 0.5 (size 4); the agent ran out of time"
    both = [trial(1.0, rewards={"reward": 1.0, "size": 2.0}), trials[1]]
    assert task.guide(task.splits["train"][0], both, cast("Any", None)).metrics["size"] == 3.0


def test_what_a_job_without_a_measurement_comes_to() -> None:
    def outcome(trials: list[Trial], *, late: bool = False, said: str = "") -> Any:
        return _outcome(trials, Ended(Path("/x"), 0, late, said))

    assert outcome([trial(), trial(0.0)]) == [trial(), trial(0.0)]
    for told, words, retry, suspect in (
        (outcome([], said="a" * 700), f"Harbor ran no trial of this task: {'a' * 600}", True, False),
        (outcome([trial(), trial(None, error="e", suspect=True)]), "nothing was measured: e", True, True),
        (outcome([trial(None, error="e")]), "nothing was measured: e", True, False),
        (outcome([trial(None)], late=True), "the Harbor job ran past `harbor_cli_timeout_seconds`", False, False),
    ):
        assert (str(told), told.retry, told.suspect) == (words, retry, suspect)


def test_examples_that_occur_twice_go_into_another_wave() -> None:
    examples = [Example(id=name) for name in ("a", "b", "a", "c", "a", "b")]
    assert [*_waves(examples)] == [[0, 1, 3], [2, 5], [4]]
    assert [*_waves([])] == []


def test_the_time_of_a_job_and_its_model() -> None:
    for limit, deadline, seconds in (
        (None, None, None),
        (5.0, None, 5.0),
        (None, 3.0, 3.0),
        (5.0, 3.0, 3.0),
        (2.0, 3.0, 2.0),
    ):
        context = cast("Any", SimpleNamespace(deadline=deadline))
        assert _seconds(Options(harbor_cli_timeout_seconds=limit), context) == seconds
    door = cast("Any", SimpleNamespace(base_url="u", model="o/m"))
    assert _model(Options(), None) is None
    for name in (None, "m", "x/m"):
        assert _model(Options(harbor_model=name), door) == Model("u", "o/m")
    with pytest.raises(
        NotMeasured, match=r"^`harbor_model` is `x/n`, and the role `agent` has the model `o/m`: name it under"
    ):
        _model(Options(harbor_model="x/n"), door)


def test_the_end_of_what_a_job_printed(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("a  \n\n b\n")
    assert (_tail(path), _tail(path, 2)) == ("a\n b", " b")
    path.write_text("x" * 1_400 + "y" * 1_500)
    assert _tail(path) == "y" * 1_500


def test_an_engine_that_is_away_is_told_with_the_command_that_starts_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert [*invariants.absent_engine("daytona")] == []
    assert [*invariants.absent_engine("docker")] == [
        "`harbor_env: docker` needs the command `docker`, and it is not on PATH"
    ]
    engine = tmp_path / "podman"
    for script, words in (
        ("echo one; echo ' two ' >&2; exit 1", "two "),
        ("echo out; exit 2", "out"),
        ("exit 1", "no answer"),
        ("exit 0", None),
    ):
        engine.write_text(f"#!/bin/sh\n{script}\n")
        engine.chmod(0o755)
        told = (
            [f"`harbor_env: podman` cannot be used here: {words.strip()}; try: systemctl --user start podman.socket"]
            if words
            else []
        )
        assert [*invariants.absent_engine("podman")] == told
    assert subprocess.run([engine], check=False).returncode == 0
