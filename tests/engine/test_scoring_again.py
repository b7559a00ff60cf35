"""A scoring that comes to nothing is tried again; a job that could not be scored says so, and `resume --failed` scores it alone."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.whole import one_in

from tracebench_core.specs import ExampleResult, Feedback
from tracebench_core.specs.events import EvaluationDone, JobStarted
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.measure.scored_before import ScoredBefore
from tracebench_runs.check.fsck import check_run

LAB = """
import os, signal, time
from pathlib import Path
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

class Options(BaseModel, extra="forbid"):
    notes: str
    how: str
    times: int

class Settings(BaseModel, extra="forbid"):
    pass

def raises(): raise SystemExit(5)
def breaks(): raise BrokenPipeError("no more")
HOW = {
    "kill": lambda: os.kill(os.getpid(), signal.SIGKILL), "term": lambda: os.kill(os.getpid(), signal.SIGTERM),
    "segv": lambda: os.kill(os.getpid(), signal.SIGSEGV), "hang": lambda: time.sleep(600), "exit": raises,
    "quit": lambda: os._exit(12), "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
}

class Lab:
    objective = "raise x"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    splits = {"train": [Example(id="a")], "test": [Example(id="t"), Example(id="u")]}
    def __init__(self, notes, how, times): self.notes, self.how, self.times = Path(notes), how, times
    def run(self, values, example, context): return values["x"]
    def guide(self, example, output, context):
        if example.id == "u":
            with self.notes.open("a") as notes: notes.write("scored\\n")
            if len(self.notes.read_text().splitlines()) <= self.times: HOW[self.how]()
        return Feedback(score=output)

class Finds:
    def __init__(self, settings): pass
    def train(self, problem):
        Path("../../../trained").open("a").write("trained\\n")
        problem.evaluate({"x": 1.0}, origin="found")

@hookimpl
def tracebench_tasks(): return [TaskSpec(name="one", loader="fake_again:Lab", title="one", options="fake_again:Options")]

@hookimpl
def tracebench_trainers():
    return [TrainerSpec(name="Finds", loader="fake_again:Finds", settings="fake_again:Settings", uses_model=False)]
"""


@pytest.fixture
def scored(install_plugin: Callable[..., None], tmp_path: Path) -> Callable[..., api.RunSummary]:
    """Run a job whose scoring ends in some way the first few times."""
    install_plugin("again", LAB)

    def run(how: str, times: int) -> api.RunSummary:
        options = {"notes": str(tmp_path / "notes"), "how": how, "times": times}
        config: dict[str, Any] = {"tasks": [{"id": "again:one", "eval_kwargs": options}], "trainers": ["Finds"]}
        limits = {"scoring_timeout": 1.0, "runs_dir": str(tmp_path / "runs")}
        return api.run(parse_config(config | limits), stream=io.StringIO())

    return run


def trainings(summary: api.RunSummary) -> int:
    return len((summary.run_dir / "trained").read_text().splitlines())


@pytest.mark.parametrize("how", one_in(4, ["kill", "term", "segv", "hang", "exit", "quit", "stop"]))
def test_a_scoring_that_comes_to_nothing_is_done_again(scored: Callable[..., api.RunSummary], how: str) -> None:
    summary = scored(how, 1)
    (result,) = api.load_run(summary.run_dir).results.values()
    assert (summary.exit_code, result.status, result.score_test, result.error) == (0, "ok", 1.0, None)
    assert trainings(summary) == 1
    assert check_run(summary.run_dir) == []


@pytest.mark.parametrize("how", one_in(2, ["kill", "exit"]))
def test_a_job_that_cannot_be_scored_says_so_and_resume_scores_it_alone(
    scored: Callable[..., api.RunSummary], how: str
) -> None:
    """An exit is an exception of its evaluation, and a scoring has two; what ends the process ends the scoring at the first."""
    summary = scored(how, 6 if how == "exit" else 3)
    run = api.load_run(summary.run_dir)
    (result,) = run.results.values()
    assert (summary.exit_code, summary.counts, result.status) == (1, {"unscored": 1}, "unscored")
    assert result.error is not None
    assert result.feedback
    assert check_run(summary.run_dir) == []
    assert api.resume(summary.run_dir, stream=io.StringIO()).counts == {"unscored": 1}
    again = api.resume(summary.run_dir, failed=True, stream=io.StringIO())
    run = api.load_run(summary.run_dir)
    (result,) = run.results.values()
    assert (again.exit_code, again.counts, result.status, result.score_test) == (0, {"ok": 1}, "ok", 1.0)
    assert trainings(summary) == 1
    events = list(run.events(result.job_id))
    assert sum(isinstance(event, JobStarted) for event in events) == 1
    assert sum(isinstance(event, EvaluationDone) and event.by == "trainer" for event in events) == 1
    assert check_run(summary.run_dir) == []


def measured(summary: api.RunSummary) -> list[str]:
    return (summary.run_dir.parents[1] / "measured").read_text().split()


HALF_WAY = """
import os, signal
from pathlib import Path
from pydantic import BaseModel
from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import *

class Options(BaseModel, extra="forbid"):
    notes: str

class Settings(BaseModel, extra="forbid"):
    pass

class Lab:
    objective = "raise x"
    parameters = [Parameter(name="x", initial=0.0, kind="number")]
    splits = {"train": [Example(id="a")], "test": [Example(id=f"t{n}") for n in range(4)]}
    def __init__(self, notes): self.notes = Path(notes)
    def run(self, values, example, context): return values["x"]
    def guide(self, example, output, context):
        if example.id != "a":
            if example.id == "t2" and output == 1.0 and not (self.notes / "death").exists():
                (self.notes / "death").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            with (self.notes / "measured").open("a") as notes: notes.write(f"{example.id}={output}\\n")
        return Feedback(score=output, metrics={"own": output})

class Finds:
    def __init__(self, settings): pass
    def train(self, problem): problem.evaluate({"x": 1.0}, origin="found")

@hookimpl
def tracebench_tasks(): return [TaskSpec(name="one", loader="fake_half:Lab", title="one", options="fake_half:Options")]

@hookimpl
def tracebench_trainers():
    return [TrainerSpec(name="Finds", loader="fake_half:Finds", settings="fake_half:Settings", uses_model=False)]
"""


def test_of_a_scoring_that_is_killed_half_way_only_what_is_missing_is_measured(
    install_plugin: Callable[..., None], tmp_path: Path
) -> None:
    install_plugin("half", HALF_WAY)
    tasks = [{"id": "half:one", "eval_kwargs": {"notes": str(tmp_path)}}]
    config = {"tasks": tasks, "trainers": ["Finds"], "runs_dir": str(tmp_path / "runs")}
    summary = api.run(parse_config(config), stream=io.StringIO())
    run = api.load_run(summary.run_dir)
    (result,) = run.results.values()
    assert (summary.exit_code, result.status, result.score_test) == (0, "ok", 1.0)
    seen = measured(summary)
    first = [f"t{n}={x}" for x in (0.0, 1.0) for n in range(4)]
    assert sorted(seen) == sorted([*first, *(f"t{n}=1.0" for n in range(4))])  # once, and the winner once again
    engines = [e for e in run.events(result.job_id) if isinstance(e, EvaluationDone) and e.split == "test"]
    assert [(e.candidate, e.example, e.reused) for e in engines] == [
        *(("c0", f"t{n}", True) for n in range(4)),
        *(("c1", f"t{n}", n < 2) for n in range(4)),
    ]
    assert {e.metrics["own"] for e in engines if e.candidate == "c1"} == {1.0}
    assert not [*summary.run_dir.glob("jobs/*/scoring.jsonl")]
    assert check_run(summary.run_dir) == []


def test_measurements_that_were_not_kept_by_a_scoring_are_not_taken(tmp_path: Path) -> None:
    honest = ScoredBefore(tmp_path / "scoring.jsonl", "secret")
    feedback = Feedback(score=1.0, text="so it is", metrics={"a": 0.5})
    honest.keep("key", ExampleResult(example="t", split="test", feedback=feedback, seconds=0.5))
    honest.keep("", ExampleResult(example="t", split="test", feedback=feedback, seconds=0.5))
    found = ScoredBefore(tmp_path / "scoring.jsonl", "secret").find("key")
    assert found is not None
    assert (found.feedback, found.reused) == (feedback, True)
    assert ScoredBefore(tmp_path / "scoring.jsonl", "another").find("key") is None

    text = (tmp_path / "scoring.jsonl").read_text()
    for forged in (
        text.replace('"score": 1.0', '"score": 9.0'),
        text.replace('"key"', '"other"'),
        text[: len(text) // 2],
        "[1, 2]\n{}\nnull\n" + text.replace("so it is", "so it was"),
    ):
        (tmp_path / "scoring.jsonl").write_text(forged)
        assert ScoredBefore(tmp_path / "scoring.jsonl", "secret").find("key") is None
        assert ScoredBefore(tmp_path / "scoring.jsonl", "secret").find("other") is None


@pytest.mark.parametrize("what", ["fifo", "link", "folder"])
def test_what_a_training_leaves_in_the_place_of_measurements_holds_no_scoring_up(tmp_path: Path, what: str) -> None:
    path, other = tmp_path / "scoring.jsonl", tmp_path / "journal"
    other.write_text("")
    if what == "fifo":
        os.mkfifo(path)
    elif what == "link":
        path.symlink_to(other)
    else:
        path.mkdir()
    scored = ScoredBefore(path, "secret")
    feedback = Feedback(score=1.0, text="so it is " * 1_000)
    for n in range(20):  # more than a pipe holds
        scored.keep(f"key {n}", ExampleResult(example="t", split="test", feedback=feedback, seconds=0.5))
    assert other.read_text() == ""
    assert (ScoredBefore(path, "secret").find("key 19") is None) == (what == "folder")
