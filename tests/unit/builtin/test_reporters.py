"""A run under way as text: a line for each change, or an object for each."""

from __future__ import annotations

import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.runs import make_run
from tests.unit.store.samples import job_spec

from tracebench_core.specs import JobResult
from tracebench_core.specs.job import ProposalCounts
from tracebench_engine.builtin.reporters import JsonReporter, Outlet, PlainReporter, called, outcome
from tracebench_runs.storage.layout import RunLayout


def result(**fields: Any) -> JobResult:
    told = {"job_id": "0" * 12, "task_id": "s:t", "suite": "s", "trainer_id": "T", "seed": 1, "mode": "stub"}
    return JobResult.model_validate({**told, "status": "ok", "stop_reason": "completed", **fields})


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, "ok suite:task x Climber seed=1: - → - (completed, 0.0 s)"),
        (
            {"score_val_initial": 1.0, "score_val_best": 2.123456789, "time_seconds": 1.25},
            "ok suite:task x Climber seed=1: 1 → 2.12346 (completed, 1.2 s)",
        ),
        (
            {
                "proposals": ProposalCounts(asked=4, usable=2, duplicate=1, invalid=1),
                "flags": {"late": "x", "odd": "y"},
            },
            "ok suite:task x Climber seed=1: - → - (completed, 0.0 s); 2 of 4 proposals usable, 1 duplicate, 1 invalid, flagged late, odd",
        ),
        (
            {"proposals": ProposalCounts(duplicate=1)},
            "ok suite:task x Climber seed=1: - → - (completed, 0.0 s); 1 duplicate",
        ),
        ({"flags": {"late": "x"}}, "ok suite:task x Climber seed=1: - → - (completed, 0.0 s); flagged late"),
        ({"status": "failed", "feedback": "why"}, "failed suite:task x Climber seed=1: why"),
        ({"status": "failed", "stop_reason": "cap"}, "failed suite:task x Climber seed=1: cap"),
    ],
)
def test_how_a_job_ended_is_one_line(fields: dict[str, Any], line: str) -> None:
    assert outcome(job_spec(), result(**fields)) == line


def test_a_run_is_told_from_its_start_to_its_counts(tmp_path: Path) -> None:
    job = job_spec()
    RunLayout(tmp_path).job(job.job_id).path.mkdir(parents=True)
    for jobs, words in ((1, "1 job"), (2, "2 jobs")):
        sink = io.StringIO()
        reporter = PlainReporter(sink)
        reporter.run_started(tmp_path, jobs)
        reporter.job_started(job)
        notice = {"kind": "activity", "doing": "look after me", "notice": True}
        RunLayout(tmp_path).job(job.job_id).events.write_text(json.dumps(notice, separators=(",", ":")) + "\n")
        reporter.job_finished(job, result(status="failed", feedback="so"))
        reporter.run_finished(tmp_path, {"ok": 1, "failed": 2})
        name = tmp_path.name
        assert sink.getvalue().splitlines() == [
            f"run {name}: {words} in {tmp_path}", f"{called(job)}: look after me",
            f"[1/{jobs}] failed suite:task x Climber seed=1: so", f"run {name}: 1 ok, 2 failed",
        ]  # fmt: skip


def test_a_run_is_told_as_objects_that_end_with_its_verdict(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", lambda trainer, *_: {"A": 1.0}.get(trainer, 0.5), seeds=range(3))
    job, sink = run.planned[0], io.StringIO()
    reporter = JsonReporter(sink)
    reporter.run_started(run.layout.path, 12)
    reporter.job_started(job)
    reporter.job_finished(job, run.results[job.job_id])
    reporter.run_finished(run.layout.path, {"ok": 12})
    told = [json.loads(line) for line in sink.getvalue().splitlines()]
    assert [each.pop("schema_version") for each in told] == [1] * 4
    finished, ended = told[2].pop("result"), told[3].pop("verdict")
    assert told == [
        {"event": "run_started", "run_dir": str(run.layout.path), "jobs": 12},
        {"event": "job_started", "job": job.job_id, "task": "s:x", "trainer": "A", "label": "", "seed": 0},
        {"event": "job_finished", "job": job.job_id},
        {"event": "run_finished", "run_dir": str(run.layout.path), "counts": {"ok": 12}},
    ]
    assert (finished["score_val_best"], ended["entrants"]) == (1.0, ["A", "B"])


class Broken(io.StringIO):
    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error, self.asked = error, 0

    def write(self, _text: str) -> int:
        self.asked += 1
        raise self.error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (BrokenPipeError(32, "Broken pipe"), []),
        (OSError(28, "No space left"), ["progress is no longer shown: No space left"]),
    ],
)
def test_who_watches_may_go_and_the_run_goes_on(
    error: OSError, words: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    stream = Broken(error)
    outlet = Outlet(stream)
    with caplog.at_level(logging.WARNING):
        outlet.write("one")
        outlet.write("two")
    assert ([record.getMessage() for record in caplog.records], stream.asked) == (words, 1)
