"""What past jobs tell of the cost of new ones: means per call and per job, of the newest runs, of those alone that are alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.unit.store.samples import call, evaluation, job_spec, started

from tracebench_analysis.estimates import history as module
from tracebench_analysis.estimates.history import CallCost, Caller, History, Kind, kind_of, range_of, read_history
from tracebench_core.specs import BudgetState, JobResult, JobSpec, Usage
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.results.results import write_result
from tracebench_runs.results.rows import group_of
from tracebench_runs.storage.layout import RunLayout

JOB = job_spec(task_id="s:x", trainer_id="A")
Make = Callable[..., RunLayout]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Return what writes a run of some jobs, each with its events and a result."""

    def make(name: str, jobs: Sequence[JobSpec] = (JOB,), events: Sequence[Any] = (), **result: Any) -> RunLayout:
        layout = RunLayout(tmp_path / name).create()
        write_manifest(layout, {"tasks": {job.task_id: {"comparability": 1} for job in jobs}}, jobs, durable=False)
        for job in jobs:
            writer = EventWriter(layout.job(job.job_id).fresh())
            for event in (started(job), *events):
                writer.write(event)
            writer.close(durable=False)
            fields: dict[str, Any] = {
                "job_id": job.job_id, "task_id": job.task_id, "suite": "s", "trainer_id": job.trainer_id, "seed": job.seed,
                "mode": job.mode,
                "status": "ok", "stop_reason": "completed", "used": BudgetState(evaluations=4), "score_test": 0.5,
                "usage": {"optimizer": Usage(llm_calls=3, cached_calls=2), "judge": Usage(llm_calls=9)},
            }  # fmt: skip
            write_result(writer.layout, JobResult(**(fields | result)), durable=False)
        return layout

    return make


def test_a_past_job_tells_means_per_call_and_per_evaluation(make: Make, tmp_path: Path) -> None:
    make("r", events=[
        evaluation(seconds=1.0), evaluation(example="e1", seconds=4.0),
        call(call=1, prompt_tokens=10, completion_tokens=2, cached_tokens=4, seconds=1.0),
        call(call=2, prompt_tokens=30, completion_tokens=6, cached_tokens=0, seconds=2.0),
        call(call=3, role="judge", model="j", prompt_tokens=7), call(call=4, status="error"), call(call=5, cached=True),
        call(call=6, role="agent", model="g"), call(call=7, role="judge", model="j", prompt_tokens=9),
    ])  # fmt: skip
    found = read_history(tmp_path, [JOB])
    assert found.jobs == 1
    assert found.calls[Caller("s:x", "A", "optimizer", "m")] == [CallCost(20.0, 4.0, 2.0, 1.5)]
    assert found.calls[Caller("s:x", "A", "judge", "j")][0].prompt == 8.0
    assert len(found.calls) == 3
    assert dict(found.evaluation_seconds) == {("s:x", "stub"): [2.5]}
    assert dict(found.program_calls) == {Kind("s:x", "A", "stub"): [1.5]}
    (done,) = found.work(JOB)
    assert (done.evaluations, done.llm_calls, done.is_complete) == (4, 5, True)
    assert found.scores[group_of(JOB).task, "stub"]["r", group_of(JOB)] == [0.5]


@pytest.mark.parametrize(
    ("result", "work", "scores"),
    [
        ({"stop_reason": "budget:usd"}, [False], [0.5]), ({"status": "timeout"}, [True], [0.5]), ({"status": "failed"}, [], []),
        ({"status": "skipped"}, [], []), ({"score_test": None, "score_val_best": 0.25}, [True], [0.25]), ({"score_test": None}, [True], []),
        ({"score_test": 0.0, "score_val_best": 9.0}, [True], [0.0]),
    ],
)  # fmt: skip
def test_of_a_job_counts_what_it_came_to(make: Make, tmp_path: Path, result: Any, work: Any, scores: Any) -> None:
    make("r", **result)
    found = read_history(tmp_path, [JOB])
    assert [each.is_complete for each in found.work(JOB)] == work
    assert [score for groups in found.scores.values() for group in groups.values() for score in group] == scores
    assert not found.evaluation_seconds


def test_jobs_of_another_trainer_tell_of_scores_alone_and_of_another_task_nothing(make: Make, tmp_path: Path) -> None:
    others = [job_spec(job_id=f"{n:012x}", **fields) for n, fields in enumerate((
        {"task_id": "s:x", "trainer_id": "B"}, {"task_id": "s:y", "trainer_id": "A"}, {"task_id": "s:x", "trainer_id": "A", "mode": "real"},
    ))]  # fmt: skip
    make("r", others)
    found = read_history(tmp_path, [JOB])
    assert (found.jobs, found.work(JOB)) == (0, [])
    assert sum(len(groups) for groups in found.scores.values()) == 2
    assert kind_of(JOB) == Kind("s:x", "A", "stub")


@pytest.mark.parametrize("changes", [{"settings": {"a": 1}}, {"optimizer": "O"}, {"eval_kwargs": {"a": 1}}])
def test_work_is_that_of_the_same_settings(make: Make, tmp_path: Path, changes: Any) -> None:
    make("r")
    found = read_history(tmp_path, [JOB])
    assert len(found.work(job_spec(task_id="s:x", trainer_id="A", seed=9))) == 1
    assert found.work(JOB.model_copy(update=changes)) == []


def test_what_cannot_be_read_is_passed_over(make: Make, tmp_path: Path) -> None:
    whole, broken, lost = (make(name) for name in ("whole", "broken", "lost"))
    broken.manifest.write_text("{")
    lost.job(JOB.job_id).results.write_text("{")
    assert read_history(tmp_path, [JOB]).jobs == 1
    whole.job(JOB.job_id).results.unlink()
    assert read_history(tmp_path, [JOB]).jobs == 0
    assert read_history(tmp_path / "none", [JOB]).jobs == 0


def test_the_newest_runs_are_read_and_of_a_kind_so_many_jobs(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for age, name in enumerate(("new", "middle", "old")):
        manifest = make(name, used=BudgetState(evaluations=age)).manifest
        os.utime(manifest, (1e9 - age, 1e9 - age))
    assert [each.evaluations for each in read_history(tmp_path, [JOB]).work(JOB)] == [0, 1, 2]
    monkeypatch.setattr(module, "MOST_RUNS", 2)
    assert [each.evaluations for each in read_history(tmp_path, [JOB]).work(JOB)] == [0, 1]
    monkeypatch.setattr(module, "MOST_JOBS", 1)
    found = read_history(tmp_path, [JOB])
    assert (found.jobs, len(found.work(JOB))) == (1, 1)
    assert sum(len(scores) for groups in found.scores.values() for scores in groups.values()) == 2


def test_a_range_is_the_least_the_mean_and_the_most() -> None:
    found = range_of([3.0, 1.0, 5.0])
    assert found is not None
    assert (found.low, found.likely, found.high) == (1.0, 3.0, 5.0)
    assert range_of([]) is None


def test_the_spread_is_over_seeds_and_of_trainers_whose_seeds_differ(make: Make, tmp_path: Path) -> None:
    def history(**scores: Sequence[float]) -> History:
        found = History()
        for trainer, values in scores.items():
            group = group_of(job_spec(task_id="s:x", trainer_id=trainer))
            found.scores[group.task, "stub"]["r", group].extend(values)
        return found

    task = group_of(JOB).task
    alone, beside = (history(A=[1.0, 2.0, 4.0]), history(A=[1.0, 2.0, 4.0], B=[7.0, 7.0, 7.0]))
    assert alone.spread(task, "stub") == beside.spread(task, "stub") is not None
    assert history(B=[7.0, 7.0]).spread(task, "stub") is None
    assert alone.spread(task, "real") is None
