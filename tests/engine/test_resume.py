from __future__ import annotations

import io
import json
import os
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import warm

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobResult
from tracebench_engine import api
from tracebench_engine.run.rundir import reopen_run_dir
from tracebench_runs.check.fsck import check_run
from tracebench_runs.check.recovery import settle
from tracebench_runs.journal.journal import Journal
from tracebench_runs.reading.compare import without_times

Lab = Callable[..., api.RunSummary]


def start(tmp_path: Path, config: dict[str, Any]) -> tuple[warm.Started, Path]:
    """Start a run from the command line and return it once its first job has found something."""
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"runs_dir": str(tmp_path / "runs"), "run_id": "r", **config}))
    process = warm.start("run", "--config", str(path))
    run_dir = tmp_path / "runs" / "r"
    wait_for(lambda: any('"evaluation"' in p.read_text() for p in run_dir.glob("jobs/*/events.jsonl")))
    return process, run_dir


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def processes_of(run_dir: Path) -> list[str]:
    """Return the command lines of running processes that stand in, or were told of, a run directory."""
    found = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            here = str((proc / "cwd").resolve())
            if here.startswith(str(run_dir)) and (proc / "stat").read_text().split()[2] != "Z":
                found.append((proc / "cmdline").read_text())
        except OSError:
            continue
    return found


def read(path: Path) -> JobResult:
    return JobResult.model_validate_json(path.read_text())


def resume(run_dir: Path, **options: Any) -> api.RunSummary:
    return api.resume(run_dir, stream=io.StringIO(), **options)


def test_resuming_a_finished_run_runs_nothing_and_changes_nothing(lab: Lab) -> None:
    first = lab("lab:fine", "NoOp", "prints", seeds=[1, 2])
    before = {p: p.read_bytes() for p in first.run_dir.glob("jobs/*/results.json")}

    second = resume(first.run_dir)

    assert second.counts == {"ok": 4}
    assert {p: p.read_bytes() for p in first.run_dir.glob("jobs/*/results.json")} == before


def test_resume_failed_runs_the_failed_again_and_keeps_the_good(lab: Lab) -> None:
    first = lab("lab:fine", "NoOp", "raises")
    good = next(p for p in first.run_dir.glob("jobs/*/results.json") if '"ok"' in p.read_text())
    before = good.stat().st_mtime_ns

    kept = resume(first.run_dir)
    again = resume(first.run_dir, failed=True)

    assert kept.counts == again.counts == {"failed": 1, "ok": 1}
    assert good.stat().st_mtime_ns == before
    assert len(list((first.run_dir / "attempts").iterdir())) == 1


def test_a_corrupt_result_is_run_again_and_not_trusted(lab: Lab) -> None:
    first = lab("lab:fine", "NoOp")
    (path,) = first.run_dir.glob("jobs/*/results.json")
    honest = read(path)
    path.write_text(path.read_text().replace('"score_val_best": 0.0', '"score_val_best": 9.9'))

    resume(first.run_dir)

    assert without_times(read(path)) == without_times(honest)


def test_a_damaged_result_beside_an_unfinished_job_is_run_again_in_the_same_resume(lab: Lab) -> None:
    first = lab("lab:fine", "NoOp", seeds=[1, 2, 3])
    damaged, unfinished, kept = (path.parent for path in sorted(first.run_dir.glob("jobs/*/results.json")))
    before = (kept / "results.json").read_bytes(), (kept / "results.json").stat().st_ino
    (damaged / "results.json").write_bytes((damaged / "results.json").read_bytes().replace(b'"ok"', b'"oK"'))
    (damaged / "events.jsonl").write_bytes(b"")
    shutil.rmtree(unfinished)

    second = resume(first.run_dir)

    assert second.counts == {"ok": 3}
    assert {path.name for path in (first.run_dir / "attempts").iterdir()} == {f"{damaged.name}.1"}
    assert ((kept / "results.json").read_bytes(), (kept / "results.json").stat().st_ino) == before
    assert check_run(first.run_dir) == []


def test_a_result_that_is_lost_is_put_back_from_its_events_by_the_resume_that_runs_the_rest(lab: Lab) -> None:
    first = lab("lab:fine", "NoOp", seeds=[1, 2])
    lost, unfinished = (path.parent for path in sorted(first.run_dir.glob("jobs/*/results.json")))
    before = (lost / "results.json").read_bytes()
    (lost / "results.json").unlink()
    shutil.rmtree(unfinished)

    second = resume(first.run_dir)

    assert second.counts == {"ok": 2}
    assert (lost / "results.json").read_bytes() == before
    assert not (first.run_dir / "attempts").exists()


def test_what_the_journal_tells_after_the_run_was_opened_counts(lab: Lab) -> None:
    first = lab("lab:fine", "NoOp", seeds=[1, 2])
    layout, config, _, known = reopen_run_dir(first.run_dir)
    job_id = next(iter(known.ends))
    with Journal(layout) as journal:
        journal.job_started(job_id)
        settled = settle(layout.path, known.ends, journal=journal, known=known)

    assert config.run_id == first.run_id
    assert settled.adopted == (job_id,)


def test_interrupting_keeps_what_is_finished_and_says_how_to_continue(
    install_plugin: Any, lab: Lab, tmp_path: Path
) -> None:
    config = {"tasks": ["lab:fine"], "trainers": ["NoOp", {"id": "sleeps", "params": {"seconds": 60.0}}]}
    process, run_dir = start(tmp_path, config)
    wait_for(lambda: "job_finished" in (run_dir / "journal-main.jsonl").read_text())

    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=30)

    assert process.returncode == 130
    assert f"trace-bench resume {run_dir}" in told
    assert processes_of(run_dir) == []
    assert json.loads((run_dir / "summary.json").read_text())["counts"]["not_run"] == 1


def test_after_kill_minus_nine_nothing_runs_on_and_resume_finishes(lab: Lab, tmp_path: Path) -> None:
    config = {
        "tasks": ["lab:fine"],
        "trainers": ["NoOp", {"id": "sleeps", "params": {"seconds": 1.5}}],
        "seeds": [1, 2],
        "max_workers": 2,
    }
    process, run_dir = start(tmp_path, config)
    wait_for(lambda: len(processes_of(run_dir)) >= 1)

    os.kill(process.pid, signal.SIGKILL)
    process.communicate()

    wait_for(lambda: processes_of(run_dir) == [])
    assert resume(run_dir).counts == {"ok": 4}


def test_two_resumes_of_one_run_at_once_are_refused(lab: Lab, tmp_path: Path) -> None:
    process, run_dir = start(
        tmp_path, {"tasks": ["lab:fine"], "trainers": [{"id": "sleeps", "params": {"seconds": 60.0}}]}
    )
    try:
        with pytest.raises(RunDirError, match=str(process.pid)):
            resume(run_dir)
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def test_a_finished_job_is_the_same_bytes_apart_from_times_however_many_workers(lab: Lab) -> None:
    trainers = [{"id": "RandomSearch", "params": {"num_steps": 3}}]
    one = lab("internal:numeric_param", *trainers, seeds=[1, 2, 3], run_id="one", max_workers=1)
    many = lab("internal:numeric_param", *trainers, seeds=[1, 2, 3], run_id="many", max_workers=3, eval_workers=4)

    def results(summary: api.RunSummary) -> dict[str, Any]:
        return {p.parent.name: without_times(read(p)) for p in summary.run_dir.glob("jobs/*/results.json")}

    assert results(one) == results(many)
    assert len(results(one)) == 3
