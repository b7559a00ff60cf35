"""What the machine does to a run: disks fill up, folders vanish, clocks jump, processes are killed. No user sees a traceback."""

from __future__ import annotations

import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests import warm
from tests.crash.processes import tree
from tests.whole import HEAVY, cells

from tracebench_core.errors import RunDirError
from tracebench_engine import api
from tracebench_runs.check.fsck import check_run
from tracebench_runs.journal.trust import finished_jobs

Lab = Callable[..., api.RunSummary]
COMMAND = str(Path(sys.executable).parent / "trace-bench")


def start(tmp_path: Path, **config: Any) -> warm.Started:
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump({"runs_dir": str(tmp_path / "runs"), "run_id": "r", **config}))
    return warm.start("run", "--config", str(path), says="at once")


def wait_for(condition: Callable[[], Any], *, seconds: float = 60.0) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)
    return found


def resume(run_dir: Path) -> api.RunSummary:
    return api.resume(run_dir, stream=io.StringIO())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB in memory, where this user may mount one."""
    place = tmp_path / "runs"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True, text=True, check=False
    )
    if mounted.returncode:
        pytest.skip(f"no small disk can be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@HEAVY
def test_a_full_disk_stops_the_run_with_words_and_loses_nothing_that_was_declared(
    lab: Lab, small_disk: Path, tmp_path: Path
) -> None:
    process = start(tmp_path, tasks=["lab:fine"], trainers=["NoOp"], seeds=list(range(300)))
    told, _ = process.communicate(timeout=120)
    run_dir = small_disk / "r"
    declared = finished_jobs(run_dir)

    assert process.returncode not in {0, 70}
    assert "Traceback" not in told
    assert "No space left on device" in told or "cannot be written" in told
    assert f"trace-bench resume {run_dir}" in told
    assert 0 < len(declared) < 300

    for command in (["resume"], ["fsck", "--repair"], ["resume", "--failed"]):  # the disk is still full
        again = subprocess.run([COMMAND, *command, str(run_dir)], capture_output=True, text=True, check=False)
        assert again.returncode == 2, again.stderr
        assert "No space left on device" in again.stderr
        assert "Traceback" not in again.stderr
    assert {job: status for job, status in finished_jobs(run_dir).items() if job in declared} == declared

    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    assert resume(run_dir).counts == {"ok": 300}
    assert {job: status for job, status in finished_jobs(run_dir).items() if job in declared} == declared
    assert [f for f in check_run(run_dir) if f.mended_by != "nothing"] == []


def test_a_runs_directory_that_cannot_be_written_is_refused_before_any_job(lab: Lab, tmp_path: Path) -> None:
    (tmp_path / "runs").write_text("a file where the folder should be")

    with pytest.raises(RunDirError, match="cannot be made") as refused:
        lab("lab:fine", "NoOp")

    assert "--runs-dir" in refused.value.hint


def test_a_run_directory_that_is_deleted_under_way_ends_the_run_with_words(lab: Lab, tmp_path: Path) -> None:
    process = start(
        tmp_path, tasks=["lab:fine"], trainers=[{"id": "sleeps", "params": {"seconds": 0.5}}], seeds=list(range(20))
    )
    run_dir = tmp_path / "runs" / "r"
    wait_for(lambda: run_dir.is_dir() and finished_jobs(run_dir))
    shutil.rmtree(run_dir, ignore_errors=True)
    shutil.rmtree(run_dir, ignore_errors=True)
    told, _ = process.communicate(timeout=120)

    assert process.returncode not in {0, 70}
    assert "Traceback" not in told
    assert str(run_dir) in told


def test_two_runs_in_one_second_are_two_folders(lab: Lab) -> None:
    runs = {lab("lab:fine", "NoOp").run_dir for _ in range(3)}

    assert len(runs) == 3


def test_a_clock_that_jumps_back_changes_no_result_and_no_decision(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    from datetime import UTC, datetime

    from tracebench_runs.journal import journal

    first = lab("lab:fine", "NoOp", seeds=[1, 2])
    monkeypatch.setattr(journal, "utc_now", lambda: datetime(2001, 1, 1, tzinfo=UTC))

    assert resume(first.run_dir).counts == {"ok": 2}
    again = lab("lab:fine", "NoOp", run_id="early", seeds=[1, 2])
    assert again.counts == {"ok": 2}
    assert resume(again.run_dir).counts == {"ok": 2}


def test_a_job_that_the_kernel_kills_for_memory_costs_only_itself(lab: Lab, tmp_path: Path) -> None:
    process = start(
        tmp_path,
        tasks=["lab:fine"],
        trainers=[{"id": "sleeps", "params": {"seconds": 60.0}}, "NoOp"],
        max_workers=1,
    )
    wait_for(lambda: any('"best"' in p.read_text() for p in (tmp_path / "runs").glob("r/jobs/*/events.jsonl")))
    job = wait_for(lambda: [pid for pid, kind in tree(process.pid).items() if kind == "job"])[0]
    os.kill(job, signal.SIGKILL)  # what the out-of-memory killer does
    told, _ = process.communicate(timeout=120)

    results = {r.trainer_id: r for r in api.load_run(tmp_path / "runs" / "r").results.values()}
    assert process.returncode == 1, told
    assert (results["sleeps"].status, results["sleeps"].score_val_best) == ("failed", 1.0)
    assert "SIGKILL" in results["sleeps"].feedback
    assert results["NoOp"].status == "ok"


@pytest.mark.parametrize("sig", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=HEAVY)])
def test_a_template_that_is_ended_hands_its_jobs_to_the_next_one(lab: Lab, tmp_path: Path, sig: signal.Signals) -> None:
    process = start(
        tmp_path,
        tasks=["lab:fine"],
        trainers=[{"id": "sleeps", "params": {"seconds": 1.0}}],
        seeds=[1, 2],
        max_workers=2,
    )
    wait_for(lambda: "job" in tree(process.pid).values())
    os.kill(next(pid for pid, kind in tree(process.pid).items() if kind == "template"), sig)
    told, _ = process.communicate(timeout=120)

    assert process.returncode == 0, told
    assert {r.status for r in api.load_run(tmp_path / "runs" / "r").results.values()} == {"ok"}


@pytest.mark.parametrize(
    ("helper", "sig"),
    cells(
        product(("gateway", "sandbox"), (signal.SIGKILL, signal.SIGTERM)),
        always=[("gateway", signal.SIGKILL)],
        often=[("sandbox", signal.SIGTERM)],
    ),
)
def test_a_gateway_or_sandbox_server_that_is_ended_is_started_again(
    tmp_path: Path, helper: str, sig: signal.Signals
) -> None:
    process = start(
        tmp_path,
        mode="stub",
        tasks=["internal:code_param"],
        trainers=[{"id": "SequentialRefine", "params": {"num_steps": 3}}],
        seeds=list(range(3)),
    )
    wait_for(lambda: "job" in tree(process.pid).values())
    os.kill(next(pid for pid, kind in tree(process.pid).items() if kind == helper), sig)
    told, _ = process.communicate(timeout=170)

    results = api.load_run(tmp_path / "runs" / "r").results.values()
    assert process.returncode == 0, told
    assert {(r.status, r.score_test is not None) for r in results} == {("ok", True)}
