"""Harbor itself, in namespaces: real jobs and real agents, with the rule-based stand-in for a model. Skipped where there is no Harbor."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tracebench_terminalbench import rules
from tracebench_terminalbench.catalog import TOYS, Case
from tracebench_terminalbench.found import Harbor
from tracebench_terminalbench.job_config import Model, job_config
from tracebench_terminalbench.launch import Ended, harbor_environ, run_job
from tracebench_terminalbench.options import Options
from tracebench_terminalbench.subject import write_subject
from tracebench_terminalbench.trials import Trial, read_trials
from tracebench_testing.fake_openai import FakeOpenAI

pytestmark = pytest.mark.heavy("harbor")
ALL = [Case(folder.name, folder) for folder in sorted(TOYS.iterdir())]
LOCAL = {"harbor_env": "local"}


def job(
    harbor: Harbor,
    folder: Path,
    cases: Sequence[Case],
    *,
    options: dict[str, Any],
    text: str = "",
    server: FakeOpenAI | None = None,
    seconds: float | None = None,
) -> Ended:
    """Run one Harbor job as the suite does."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Options.model_validate(options)
    frame = harbor.template("json").read_text()
    subject = write_subject(made, text, frame=frame, folder=folder) if server else {}
    model = Model(server.base_url, "rules") if server else None
    config = job_config(made, cases, name="job", folder=folder, subject=subject, model=model)
    environ = harbor_environ({**os.environ, "SECRET_TOKEN": "s3cret-value"}, extra={}, api_key="the-jobs-own-key")
    return run_job(harbor.command, config, folder=folder, environ=environ, seconds=seconds)


def rewards(ended: Ended) -> dict[str, float | None]:
    trials = {trial.slug: trial for trial in read_trials(ended.folder)}
    assert trials, ended.said
    return {slug: trial.reward for slug, trial in trials.items()}


def sandboxes() -> set[str]:
    """Return what still runs or is mounted of a sandbox anywhere on this machine."""
    found = set()
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = process.read_bytes()
        except OSError:
            continue
        if b".sandbox-" in words:
            found.add(words.decode(errors="replace"))
    return found | {line for line in Path("/proc/self/mounts").read_text().splitlines() if ".sandbox-" in line}


def test_the_solutions_of_the_toy_tasks_pass_and_doing_nothing_does_not(harbor: Harbor, tmp_path: Path) -> None:
    solved = job(harbor, tmp_path / "oracle", ALL, options={"agent": "oracle"})
    idle = job(harbor, tmp_path / "nop", ALL, options={"agent": "nop"})

    assert rewards(solved) == {case.slug: 1.0 for case in ALL}
    assert rewards(idle) == {case.slug: 0.0 for case in ALL}
    assert not [line for line in sandboxes() if str(tmp_path) in line]


def test_every_fault_of_a_task_is_told_apart_from_a_zero(
    harbor: Harbor, tmp_path: Path, write_task: Callable[..., Path]
) -> None:
    folders = [
        write_task("writes-nan", "echo nan > /logs/verifier/reward.txt"),
        write_task("writes-words", "echo much > /logs/verifier/reward.txt"),
        write_task("writes-nothing", "true"),
        write_task("hangs", "setsid sleep 1000"),
        write_task("zero", "echo 0 > /logs/verifier/reward.txt"),
        write_task("no-image", "true", dockerfile="ADD http://x/y /\n"),
        write_task("build-fails", "true", dockerfile="RUN exit 3\n"),
    ]

    ended = job(harbor, tmp_path / "job", [Case(f.name, f) for f in folders], options={"agent": "oracle", **LOCAL})

    trials = {trial.slug: trial for trial in read_trials(ended.folder)}
    assert trials["zero"].reward == 0.0
    assert {slug: trial.reward for slug, trial in trials.items() if slug != "zero"} == dict.fromkeys(
        ("writes-nan", "writes-words", "writes-nothing", "hangs", "no-image", "build-fails")
    )
    assert {slug for slug, trial in trials.items() if trial.suspect} == {
        "writes-nan", "writes-words", "writes-nothing", "hangs"
    }  # fmt: skip
    assert "`ADD http://x/y /` in Dockerfile needs `harbor_env: docker`" in trials["no-image"].error
    assert not [line for line in sandboxes() if str(tmp_path) in line]


def test_advice_makes_the_agent_better_and_no_key_is_kept(harbor: Harbor, tmp_path: Path) -> None:
    advice = f"{rules.LOOK}. {{Braces}} too."
    with FakeOpenAI(reply=rules.answer) as server:
        before = job(harbor, tmp_path / "before", ALL, options={}, server=server)
        after = job(harbor, tmp_path / "after", ALL, options={}, text=advice, server=server)
        asked = server.log.requests

    assert rewards(before) == {case.slug: float(case.slug == "hello-file") for case in ALL}
    assert {slug for slug, reward in rewards(after).items() if reward} == {"hello-file", "log-count", "rename-files"}
    assert "{Braces} too." in json.dumps(asked[-1]["messages"][0])
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) > 50
    assert not [
        path for path in kept if b"the-jobs-own-key" in path.read_bytes() or b"s3cret-value" in path.read_bytes()
    ]


@pytest.mark.parametrize("subject", ["extra_instructions", "skill"])
def test_instructions_and_skills_reach_the_agent(harbor: Harbor, tmp_path: Path, subject: str) -> None:
    text = f"Please {rules.LOOK}."
    with FakeOpenAI(reply=rules.answer) as server:
        ended = job(harbor, tmp_path / "job", ALL[1:2], options={"optimize": subject}, text=text, server=server)
        prompt = json.dumps(server.log.requests[0]["messages"][0])

    assert rewards(ended) == {"hello-file": 1.0}
    assert (text if subject == "extra_instructions" else "working-in-the-terminal/SKILL.md") in prompt


def test_an_agent_that_never_ends_is_verified_when_its_time_is_over(
    harbor: Harbor, tmp_path: Path, write_task: Callable[..., Path]
) -> None:
    folder = write_task("endless", "echo 0.5 > /logs/verifier/reward.txt", agent_seconds=4.0)
    waits = json.dumps({"analysis": "", "plan": "", "commands": [{"keystrokes": "", "duration": 0.5}]})
    with FakeOpenAI(reply=lambda _: waits) as server:
        ended = job(harbor, tmp_path / "job", [Case("endless", folder)], options=LOCAL, server=server)

    (trial,) = read_trials(ended.folder)
    assert (trial.reward, trial.timed_out) == (0.5, True)


def test_a_job_out_of_time_leaves_nothing_running(harbor: Harbor, tmp_path: Path) -> None:
    waits = json.dumps({"analysis": "", "plan": "", "commands": [{"keystrokes": "sleep 999\n", "duration": 30}]})
    with FakeOpenAI(reply=lambda _: waits) as server:
        ended = job(harbor, tmp_path / "job", ALL[:2], options={}, server=server, seconds=25.0)

    trials: list[Trial] = read_trials(ended.folder)
    assert ended.out_of_time
    assert [trial.reward for trial in trials] == [None] * len(trials)
    assert not [line for line in sandboxes() if str(tmp_path) in line]


def test_what_harbor_refuses_is_said_in_its_words(harbor: Harbor, tmp_path: Path) -> None:
    ended = job(harbor, tmp_path / "job", [Case("x", tmp_path / "nowhere")], options={"agent": "nop", **LOCAL})

    assert not read_trials(ended.folder)
    assert "nowhere" in ended.said
