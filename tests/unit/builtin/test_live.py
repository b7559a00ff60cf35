"""The live view: how far a running job is, read from its events while they are written."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from tracebench_core.specs import Budget, JobSpec, TaskVersion
from tracebench_engine.builtin.live import LiveReporter
from tracebench_engine.builtin.progress import JobProgress, clock


def a_job(budget: Budget) -> JobSpec:
    return JobSpec(
        job_id="0" * 12, task_id="mine:t", task_version=TaskVersion(), plugin_version="x 1", trainer_id="Climb", params={},
        settings={}, optimizer=None, optimizer_kwargs={}, guide=None, guide_kwargs={}, logger=None, logger_kwargs={}, eval_kwargs={},
        seed=7, mode="stub", models={}, budget=budget,
    )  # fmt: skip


EVENTS = [
    {"kind": "evaluation", "by": "trainer", "reused": False},
    {"kind": "evaluation", "by": "trainer", "reused": True},
    {"kind": "evaluation", "by": "engine"},
    {"kind": "llm_call", "phase": "training", "status": "ok", "prompt_tokens": 90, "completion_tokens": 10, "usd": 0.5},
    {"kind": "best", "score": -1.5},
    {"kind": "llm_call", "phase": "scoring", "status": "ok"},
]


def test_a_job_is_followed_line_by_line(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    progress = JobProgress(a_job(Budget(evaluations=4, usd=1.0)), file)
    progress.read()  # there is no file yet
    text = "".join(json.dumps(event) + "\n" for event in EVENTS)
    file.write_text(text + '{"kind": "evalu')

    progress.read()
    assert progress.used == {"evaluations": 1, "llm_calls": 1, "tokens": 100, "usd": 0.5}
    assert progress.best == -1.5
    assert progress.share() == 0.5
    assert (progress.bar(), progress.amounts()) == ("█████░░░░░", "1 of 4 evaluations, 0.5 of 1 usd")
    file.write_text(text + '{"kind": "evaluation", "by": "trainer"}\n')
    progress.read()
    progress.read()
    assert progress.used["evaluations"] == 2


def test_an_evaluation_under_way_says_what_it_does_until_it_is_done(tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    progress = JobProgress(a_job(Budget(evaluations=4)), file)
    seen = []
    with file.open("a") as log:
        for event in (
            {"kind": "activity", "doing": "terminal tasks", "done": 2, "total": 5},
            {"kind": "evaluation", "by": "trainer"},
            {"kind": "trained", "status": "ok"},
        ):
            log.write(json.dumps(event) + "\n")
            log.flush()
            progress.read()
            seen.append(progress.doing)

    assert seen == ["terminal tasks (2 of 5)", "", "scoring the finalists"]


def test_without_a_cap_there_is_no_bar(tmp_path: Path) -> None:
    progress = JobProgress(a_job(Budget()), tmp_path / "none")

    assert (progress.bar(), progress.amounts()) == ("-", "0 evaluations")
    assert progress.left() is None


@pytest.mark.parametrize(("seconds", "shown"), [(None, "-"), (5, "0:05"), (61.4, "1:01"), (3725, "1:02:05")])
def test_times_are_short(seconds: float | None, shown: str) -> None:
    assert clock(seconds) == shown


def test_the_view_shows_running_jobs_with_their_budget(tmp_path: Path) -> None:
    job = a_job(Budget(evaluations=2))
    events = tmp_path / "jobs" / job.job_id / "events.jsonl"
    events.parent.mkdir(parents=True)
    doing = {"kind": "activity", "doing": "compiling\x1b[2J", "done": None, "total": None}
    events.write_text("".join(json.dumps(event) + "\n" for event in (EVENTS[0], EVENTS[4], doing)))
    stream = io.StringIO()
    view = LiveReporter(stream)
    view._console.width = 120

    view.run_started(tmp_path, 3)
    view.job_started(job)
    view._console.print(view._draw())
    view.run_finished(tmp_path, {"ok": 1})

    assert "█████░░░░░  1 of 2 evaluations" in stream.getvalue()
    assert "-1.5" in stream.getvalue()
    assert "mine:t seed 7: compiling[2J" in stream.getvalue()
    assert "0 of 3 jobs done, 1 running" in stream.getvalue()
