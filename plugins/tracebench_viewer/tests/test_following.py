"""Jobs under way are followed by what is new in their logs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tracebench_engine.api import load_run
from tracebench_viewer.following import Followed
from tracebench_viewer.shelf import Shelf


def test_a_log_is_followed_to_what_its_result_says(runs_dir: Path) -> None:
    run = load_run(runs_dir / "first")
    job = next(job for job in run.planned if job.task_id == "internal:numeric_param")
    events = run.layout.job(job.job_id).events
    whole = events.read_bytes()
    lines = whole.splitlines(keepends=True)
    half = b"".join(lines[: len(lines) // 2])
    followed = Followed()

    events.write_bytes(b"")
    (nothing,) = followed.paces(run.layout, [job])
    assert (nothing.evaluations, nothing.best, nothing.seconds, nothing.share) == (0, None, None, 0.0)
    events.write_bytes(half + b'{"v":1,"torn')
    (before,) = followed.paces(run.layout, [job])
    events.write_bytes(whole)
    (after,) = followed.paces(run.layout, [job])

    result = run.results[job.job_id]
    assert 0 < (before.evaluations or 0) < (after.evaluations or 0) == result.used.evaluations
    assert after.tokens == result.used.tokens
    assert after.usd == result.used.usd
    assert after.share == result.used.evaluations / 20


def test_a_job_that_begins_anew_is_followed_from_its_beginning(runs_dir: Path) -> None:
    run = load_run(runs_dir / "first")
    job = next(job for job in run.planned if job.task_id == "internal:numeric_param")
    events = run.layout.job(job.job_id).events
    followed = Followed()
    (whole,) = followed.paces(run.layout, [job])
    events.write_bytes(b"".join(events.read_bytes().splitlines(keepends=True)[:4]))
    (anew,) = followed.paces(run.layout, [job])
    assert (anew.evaluations or 0) < (whole.evaluations or 0)


def test_what_no_price_is_known_for_is_no_zero(runs_dir: Path) -> None:
    run = load_run(runs_dir / "first")
    job = next(job for job in run.planned if job.task_id == "internal:numeric_param")
    events = run.layout.job(job.job_id).events
    text = events.read_bytes()
    assert b'"usd":0.0' in text
    events.write_bytes(text.replace(b'"usd":0.0', b'"usd":null'))
    (pace,) = Followed().paces(run.layout, [job])
    assert pace.usd is None
    assert (pace.tokens or 0) > 0


def test_verdicts_are_found_beside_the_pages_and_kept_until_the_run_changes(
    runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tracebench_engine.api.verdicts import verdict_at_end

    shelf = Shelf(runs_dir)
    shelf.look()
    while not (told := shelf.verdicts.of(shelf.runs())):
        assert shelf.verdicts.are_pending()
    assert told == {"first": verdict_at_end(runs_dir / "first").sentence}
    again = Shelf(runs_dir)
    again.look()
    assert again.verdicts.of(again.runs()) == told
    shutil.copy(runs_dir / "first" / "summary.json", runs_dir / "kept")
    (runs_dir / "first" / "summary.json").write_text((runs_dir / "kept").read_text() + " ")
    assert Shelf(runs_dir).verdicts.of([run | {"stamp": "other"} for run in again.runs()]) == {}
