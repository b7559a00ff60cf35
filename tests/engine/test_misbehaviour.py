from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.processes import has_ended
from tests.whole import one_in

from tracebench_core.errors import typed
from tracebench_core.specs import JobResult
from tracebench_engine import api

Lab = Callable[..., api.RunSummary]


def only(summary: api.RunSummary) -> JobResult:
    (result,) = api.load_run(summary.run_dir).results.values()
    return result


def test_a_trainer_that_raises_fails_with_its_last_line_and_keeps_what_it_found(lab: Lab) -> None:
    summary = lab("lab:fine", "raises")

    result = only(summary)
    assert summary.exit_code == 1
    assert result.status == "failed"
    assert result.error is not None
    assert (result.error.type, result.error.message) == ("ValueError", "no good\nlast line")
    assert "in raises" in result.error.traceback
    assert result.feedback.endswith("last line")
    assert result.score_test == 1.0


@pytest.mark.parametrize("trainer", one_in(2, ["hangs", "sleeps"]))
def test_the_time_limit_holds_whatever_the_job_does_and_the_best_is_scored(lab: Lab, trainer: str) -> None:
    summary = lab("lab:fine", trainer, job_timeout=3.0)

    result = only(summary)
    assert (result.status, result.stop_reason) == ("timeout", "timeout")
    assert (result.score_val_best, result.score_test) == (1.0, 1.0)
    assert result.used.evaluations == 1


def test_a_job_whose_process_vanishes_is_failed_and_its_find_is_kept(lab: Lab) -> None:
    result = only(lab("lab:fine", "quits"))

    assert result.status == "failed"
    assert result.error is not None
    assert "exit code 7" in result.error.message
    assert result.score_val_best == 1.0


def test_sys_exit_in_a_trainer_is_its_failure(lab: Lab) -> None:
    result = only(lab("lab:fine", "exits"))

    assert result.status == "failed"
    assert result.error is not None
    assert result.error.type == "SystemExit"


def test_a_trainer_that_swallows_everything_gets_no_more_than_its_budget(lab: Lab) -> None:
    result = only(lab("lab:fine", "swallows", budget={"evaluations": 5}))

    assert result.status == "ok"
    assert result.used.evaluations == 5


def test_a_daemon_does_not_outlive_its_job(lab: Lab, tmp_path: Path) -> None:
    note = tmp_path / "pid"

    result = only(lab("lab:fine", {"id": "daemon", "params": {"path": str(note)}}))

    assert result.status == "ok"
    assert has_ended(int(note.read_text()))


def test_a_trainer_that_moves_away_and_closes_its_output_is_kept_whole(lab: Lab) -> None:
    summary = lab("lab:fine", "wanders", "prints")

    run = api.load_run(summary.run_dir)
    assert {r.status for r in run.results.values()} == {"ok"}
    printed = [run.layout.job(j.job_id).stdout.read_text() for j in run.planned if j.trainer_id == "prints"]
    assert printed == ["hello from the job\n"]


@pytest.mark.parametrize(
    ("task", "words"),
    [("nan", "finite"), ("none", "NoneType"), ("text", "str"), ("raises", "KeyError: 'lost'")],
)
@pytest.mark.parametrize("trainer", one_in(2, ["NoOp", "swallows"]))
def test_a_task_that_fails_on_its_own_initial_candidate_fails_its_job_with_words(
    lab: Lab, task: str, words: str, trainer: str
) -> None:
    result = only(lab(f"lab:{task}", trainer))

    assert (result.status, result.error and result.error.type) == ("failed", "BrokenTaskError")
    assert "initial candidate, on example `a`" in result.feedback
    assert words in result.feedback


def test_a_task_that_does_not_load_fails_its_jobs(lab: Lab) -> None:
    result = only(lab("lab:never", "NoOp"))

    assert result.status == "failed"
    assert result.feedback == "RuntimeError: cannot load"


def test_a_missing_requirement_skips_the_job_and_says_how_to_get_it(lab: Lab) -> None:
    summary = lab("lab:needy", "NoOp")

    assert summary.exit_code == 3
    assert only(summary).status == "skipped"
    assert typed("pip install not_there") in only(summary).stop_reason


def test_fail_fast_leaves_the_rest_not_run(lab: Lab) -> None:
    summary = lab("lab:fine", "raises", "NoOp", "prints", fail_fast=True)

    assert summary.counts == {"failed": 1, "not_run": 2}
    assert summary.exit_code == 1


def test_a_run_budget_on_evaluations_holds_over_all_jobs(lab: Lab) -> None:
    summary = lab("lab:fine", "swallows", seeds=[1, 2, 3, 4], max_workers=2, run_budget={"evaluations": 7})

    run = api.load_run(summary.run_dir)
    assert summary.exit_code == 5
    assert sum(r.used.evaluations for r in run.results.values()) == 7
    assert summary.counts.get("not_run", 0) >= 1


def test_nothing_of_this_suite_is_left_running() -> None:
    children = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
    assert [pid for pid in children if "template_main" in Path(f"/proc/{pid}/cmdline").read_text()] == []


def test_a_job_that_finds_and_prints_nothing_is_a_folder_of_three_files(lab: Lab) -> None:
    summary = lab("lab:fine", "NoOp", "prints")

    files = {
        result.trainer_id: {path.name for path in api.load_run(summary.run_dir).layout.job(job_id).path.iterdir()}
        - {"work"}  # which is its executor's to remove
        for job_id, result in api.load_run(summary.run_dir).results.items()
    }
    assert files["NoOp"] == {"events.jsonl", "job_meta.json", "results.json"}
    assert files["prints"] - files["NoOp"] == {"artifacts", "stdout.log"}


def test_a_task_that_raises_on_every_changed_candidate_fails_the_job_with_line_and_count(lab: Lab) -> None:
    summary = lab("lab:flaky", "strays")

    result = only(summary)
    assert (summary.exit_code, result.status) == (1, "failed")
    assert result.error is not None
    words = "every changed candidate met an exception of the task: 2 of 3 evaluations raised KeyError (line "
    assert words in result.error.message
    assert result.error.message.endswith(" of fake_lab.py)")
    assert result.evaluations_by_status == {"invalid": 2, "ok": 1}
    assert [(place.type, place.count) for place in result.exceptions] == [("KeyError", 2)]


def test_a_task_that_raises_on_some_candidates_is_told_and_the_job_is_scored(lab: Lab) -> None:
    result = only(lab("lab:flaky", "mixes"))

    assert (result.status, result.score_test) == ("ok", 0.5)
    assert [(place.type, place.count) for place in result.exceptions] == [("KeyError", 1)]
