"""A scoring that comes to nothing is tried again; a job that could not be scored says so, and `resume --failed` scores it alone."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracebench_core import api
from tracebench_core.config import parse_config
from tracebench_core.specs.events import EvaluationDone, JobStarted
from tracebench_core.store.fsck import check_run

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


@pytest.mark.parametrize("how", ["kill", "term", "segv", "hang", "exit", "quit", "stop"])
def test_a_scoring_that_comes_to_nothing_is_done_again(scored: Callable[..., api.RunSummary], how: str) -> None:
    summary = scored(how, 1)
    (result,) = api.load_run(summary.run_dir).results.values()
    assert (summary.exit_code, result.status, result.score_test, result.error) == (0, "ok", 1.0, None)
    assert trainings(summary) == 1
    assert check_run(summary.run_dir) == []


@pytest.mark.parametrize("how", ["kill", "exit"])
def test_a_job_that_cannot_be_scored_says_so_and_resume_scores_it_alone(
    scored: Callable[..., api.RunSummary], how: str
) -> None:
    summary = scored(how, 3)
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
