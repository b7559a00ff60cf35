"""One Harbor job for a candidate on a batch of tasks, with a small program in Harbor's place: what it is told and what it leaves."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from tracebench_core.contracts import NotMeasured
from tracebench_core.errors import MissingRequirementError
from tracebench_core.specs import Endpoint, Example
from tracebench_terminalbench.catalog import TOYS, Case
from tracebench_terminalbench.invariants import broken_invariants
from tracebench_terminalbench.options import Options
from tracebench_terminalbench.task import TerminalTask
from tracebench_terminalbench.trials import Trial

PROGRAM = """#!{python}
import json, os, sys
from pathlib import Path
home = Path("{home}")
config = json.loads(Path(sys.argv[sys.argv.index("-c") + 1]).read_text())
with (home / "jobs").open("a") as file:
    file.write(json.dumps([sys.argv[1:], config, dict(os.environ)]) + "\\n")
print("said by Harbor", flush=True)
plan = json.loads((home / "plan.json").read_text())
if plan.get("refuses"):
    sys.exit(3)
job = Path(config["jobs_dir"], config["job_name"])
job.mkdir()
rewards = plan["rewards"][config["agents"][0].get("name", "")] if "rewards" in plan else {{}}
for task in config["tasks"]:
    slug = Path(task["path"]).name
    for number, reward in enumerate(rewards.get(slug, [])):
        trial = job / f"{{slug}}__{{number}}"
        (trial / "agent").mkdir(parents=True)
        (trial / "config.json").write_text("{{}}")
        (trial / "agent/log").write_text("key " + os.environ.get("OPENAI_API_KEY", "none"))
        used = {{"n_input_tokens": 10 + number, "n_output_tokens": 3}}
        told = {{"agent_result": used}}
        if isinstance(reward, str):
            kind, _, message = reward.partition(": ")
            told["exception_info"] = {{"exception_type": kind, "exception_message": message}}
        else:
            told["verifier_result"] = {{"rewards": {{"reward": reward, "speed": 2.0}}}}
        (trial / "result.json").write_text(json.dumps(told))
"""


class Harbors:
    """The program, and what it was told."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.command = str(home / "bin/harbor")

    def plan(self, **told: Any) -> None:
        """Say what the next jobs come to: rewards by agent and task."""
        (self.home / "plan.json").write_text(json.dumps(told))

    def jobs(self) -> list[tuple[list[str], dict[str, Any], dict[str, str]]]:
        """Return arguments, configuration and environment of each job."""
        return [tuple(json.loads(line)) for line in (self.home / "jobs").read_text().splitlines()]  # type: ignore[misc]


@pytest.fixture
def harbors(tmp_path: Path) -> Harbors:
    home = tmp_path / "harbor"
    site = home / "lib/python3.12/site-packages"
    (site / "harbor-0.25.0.dist-info").mkdir(parents=True)
    prompts = site / "harbor/agents/terminus_2/templates"
    prompts.mkdir(parents=True)
    for parser in ("json", "xml"):
        (prompts / f"terminus-{parser}-plain.txt").write_text("Solve {instruction}\n{terminal_state}\n")
    (home / "bin").mkdir()
    (home / "bin/python3").symlink_to(sys.executable)
    program = home / "bin/harbor"
    program.write_text(PROGRAM.format(python=home / "bin/python3", home=home))
    program.chmod(0o755)
    made = Harbors(home)
    made.plan()
    return made


class Asking:
    """What an evaluation has around it."""

    def __init__(self, harbors: Harbors, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.artifacts, self.deadline = folder, None
        self._harbors = harbors
        self.told: list[Any] = []

    def environment(self, name: str, **given: Any) -> dict[str, str]:
        """Return the environment as an earlier process opened it."""
        package = self._harbors.home / "lib/python3.12/site-packages/harbor"
        return (
            {"command": given["command"] or "", "version": "0.25.0", "package": str(package)}
            if name == "harbor"
            else {}
        )

    def endpoint(self, role: str) -> Endpoint:
        """Return the gateway's door."""
        return Endpoint(base_url="http://127.0.0.1:7/v1", api_key=SecretStr("s3cret"), model=f"of-{role}")

    def activity(self, words: str, **counts: int) -> None:
        """Note what is done."""
        self.told.append((words, counts))

    def record(self, kind: str, data: dict[str, Any]) -> None:
        """Note what is recorded."""
        self.told.append((kind, data))

    def check(self) -> None:
        """Let it go on."""


@pytest.fixture
def task(harbors: Harbors) -> Callable[..., TerminalTask]:
    """Return what builds a task of ours for the program."""

    def build(*slugs: str, **options: Any) -> TerminalTask:
        given = {"harbor_command": harbors.command, "agent": "oracle", "grace": 0.0, **options}
        cases = [Case(slug, TOYS / slug) for slug in slugs]
        return TerminalTask({"train": cases}, Options.model_validate(given))

    return build


def run(task: TerminalTask, harbors: Harbors, folder: Path, *, ids: list[int] | None = None) -> tuple[Any, list[Any]]:
    examples = [task.splits["train"][n] for n in ids or range(len(task.splits["train"]))]
    contexts = [Asking(harbors, folder / f"evaluations/{n}") for n in range(len(examples))]
    values = {task.parameters[0].name: task.parameters[0].initial}
    return task.run_batch(values, examples, contexts), contexts  # type: ignore[arg-type] - what of a context is used


def test_one_job_runs_the_tasks_of_a_batch_and_each_has_its_own_files(
    task: Callable[..., TerminalTask], harbors: Harbors, tmp_path: Path
) -> None:
    harbors.plan(rewards={"oracle": {"hello-file": [1.0, 0.0], "log-count": [0.5]}})
    made = task("hello-file", "log-count", attempts=2)
    (first, second), contexts = run(made, harbors, tmp_path)

    ((argv, config, environ),) = harbors.jobs()
    assert argv[0] == "run"
    assert "OPENAI_API_KEY" not in environ
    assert [Path(entry["path"]).name for entry in config["tasks"]] == ["hello-file", "log-count"]
    assert [(trial.slug, trial.reward) for trial in first] == [("hello-file", 1.0), ("hello-file", 0.0)]
    assert [(trial.slug, trial.reward) for trial in second] == [("log-count", 0.5)]
    homes = [context.artifacts for context in contexts]
    assert [trial.folder for trial in first] == [homes[0] / f"trials/hello-file__{n}" for n in range(2)]
    assert second[0].folder == homes[1] / "trials/log-count__0"
    assert all(trial.folder.is_dir() for trial in [*first, *second])
    assert (homes[1] / "stdout.txt").read_text() == (homes[0] / "stdout.txt").read_text() == "said by Harbor\n"
    assert {"job.json", "command.txt", "stderr.txt"} <= {path.name for path in homes[1].iterdir()}
    assert (homes[0] / "transcript.txt").read_text().count("task hello-file: reward") == 2
    assert "hello-file" not in (homes[1] / "transcript.txt").read_text()
    record = {"transcript": "evaluations/1/transcript.txt", "backend": "local", "trials": ["log-count__0"]}
    assert contexts[1].told == [("trials", record)]
    assert contexts[0].told[:2] == [
        ("Harbor runs 2 terminal tasks", {"done": 0, "total": 2}),
        ("Harbor has run 2 terminal tasks", {"done": 2, "total": 2}),
    ]


def test_an_example_that_occurs_twice_takes_a_second_job(
    task: Callable[..., TerminalTask], harbors: Harbors, tmp_path: Path
) -> None:
    harbors.plan(rewards={"oracle": {"hello-file": [1.0], "log-count": [0.5]}})
    outcomes, contexts = run(task("hello-file", "log-count"), harbors, tmp_path, ids=[0, 0, 1])
    assert [outcome[0].slug for outcome in outcomes] == ["hello-file", "hello-file", "log-count"]
    names = [config["job_name"] for _, config, _ in harbors.jobs()]
    assert len({*names}) == 2
    assert contexts[1].told[0] == ("Harbor runs 1 terminal task", {"done": 0, "total": 1})


@pytest.mark.parametrize(
    ("plan", "words", "retry", "suspect"),
    [
        ({"refuses": True}, "Harbor refused the job: said by Harbor", False, False),
        ({}, "Harbor ran no trial of this task: said by Harbor", True, False),
        ({"rewards": {"oracle": {"hello-file": ["OSError: no room"]}}}, "nothing was measured: OSError: no room", True, False),
        ({"rewards": {"oracle": {"hello-file": [1.0, "Strange: x"]}}}, "nothing was measured: Strange: x", True, True),
    ],
)  # fmt: skip
def test_what_was_not_measured_is_said(  # noqa: PLR0917 - columns of the table
    task: Callable[..., TerminalTask],
    harbors: Harbors,
    tmp_path: Path,
    plan: Any,
    words: str,
    retry: bool,
    suspect: bool,
) -> None:
    harbors.plan(**plan)
    made = task("hello-file")
    example, context = made.splits["train"][0], Asking(harbors, tmp_path / "e/1")
    with pytest.raises(NotMeasured) as caught:
        made.run({made.parameters[0].name: made.parameters[0].initial}, example, context)  # type: ignore[arg-type] - as above
    assert (str(caught.value), caught.value.retry, caught.value.suspect) == (words, retry, suspect)


def test_a_program_gets_the_gateways_door_and_its_key_is_not_kept(
    task: Callable[..., TerminalTask], harbors: Harbors, tmp_path: Path
) -> None:
    harbors.plan(rewards={"": {"hello-file": [1.0]}, "terminus-2": {"hello-file": [1.0]}})
    for agent, subject, door in (
        ("folder", "files", "http://127.0.0.1:7/v1"),
        ("terminus-2", "extra_instructions", None),
    ):
        ((trial,),), _ = run(task("hello-file", agent=agent, optimize=subject), harbors, tmp_path / agent)
        _, config, environ = harbors.jobs()[-1]
        assert (environ["OPENAI_API_KEY"], environ.get("OPENAI_BASE_URL")) == ("s3cret", door)
        assert config["agents"][0]["model_name"] == "openai/of-agent"
        assert (trial.folder / "agent/log").read_text() == ("key <key>" if door else "key s3cret")


def test_the_score_of_an_example_is_the_mean_of_its_trials(task: Callable[..., TerminalTask], tmp_path: Path) -> None:
    trials = [
        Trial(tmp_path / "a", "fix", 1.0, rewards={"reward": 1.0, "speed": 9.0}, usage={"turns": 2.0, "other": 1.0}, timed_out=True),
        Trial(tmp_path / "b", "fix", None, usage={"turns": 3.0}),
        Trial(tmp_path / "c", "fix", 0.0, rewards={"reward": 0.0, "speed": 4.0}, usage={"turns": 4.0}),
    ]  # fmt: skip
    told = task("hello-file").guide(Example(id="fix"), trials, None)  # type: ignore[arg-type] - which it does not use
    assert (told.score, told.status) == (0.5, "ok")
    assert told.metrics == {"speed": 6.5, "turns": 9.0, "reward": 0.5, "attempts": 3.0, "agent_timeouts": 1.0}
    assert told.text.startswith("Task fix: reward 0")


@pytest.mark.parametrize(
    ("oracle", "nop", "words"),
    [
        ({"hello-file": [1.0], "log-count": [1.0]}, {"hello-file": [0.0], "log-count": [0.0]}, []),
        (
            {"log-count": [0.25], "hello-file": ["OSError: no room"]}, {"hello-file": [1.0], "log-count": [0.0]},
            [
                "`hello-file` with the agent `oracle`: OSError: no room",
                "`log-count` with the agent `oracle` has the reward 0.25, not 1",
                "`hello-file` with the agent `nop` has the reward 1, not 0",
            ],
        ),
        ({}, {"hello-file": [0.0]}, ["Harbor ran nothing with the agent `oracle`: said by Harbor"]),
    ],
)  # fmt: skip
def test_tasks_are_tried_with_their_own_solution_and_with_nothing(
    task: Callable[..., TerminalTask], harbors: Harbors, oracle: Any, nop: Any, words: list[str]
) -> None:
    harbors.plan(rewards={"oracle": oracle, "nop": nop})
    assert task("hello-file", "log-count", attempts=3, agent="terminus-2").self_check() == words
    told = [(config["agents"][0]["name"], config["n_attempts"]) for _, config, _ in harbors.jobs()]
    assert told == [("oracle", 1), ("nop", 1)]


def test_tasks_of_images_that_are_not_prepared_are_not_tried(
    harbors: Harbors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {
        "harbor_env": "oci",
        "harbor_command": harbors.command,
        "harbor_environment_kwargs": {"store": str(tmp_path / "store")},
    }
    options = Options.model_validate(given)
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "task.toml").write_text("")
    assert [*broken_invariants(options, [Case("bare", bare)])] == [
        "`bare` has neither a `docker_image` nor a Dockerfile"
    ]
    (bare / "task.toml").write_text('[environment]\ndocker_image = "base"\n')
    for name in ("skopeo", "umoci", "buildah"):
        (tmp_path / "bin").mkdir(exist_ok=True)
        (tmp_path / "bin" / name).write_text("#!/bin/sh\necho '{}'\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(MissingRequirementError) as caught:
        list(broken_invariants(options, [Case("bare", bare)]))
    assert (
        str(caught.value)
        == "Its solution is not tried: the image of `bare` is not prepared here, which may take minutes."
    )
    assert caught.value.hint == "trace-bench images prepare, with the `--config` and `--root` of this command"
    assert [*broken_invariants(Options(harbor_env="daytona"), [Case("bare", bare)])] == []
