"""The engine's tests of misbehaving jobs, and more, on an executor that is not ours: workers without shared memory, files between them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.engine import pool_executor
from tests.engine.test_faults import resume, start, wait_for
from tests.engine.test_misbehaviour import *  # noqa: F403 - the same tests, with the fixture `lab` of this module

from tracebench_engine import api
from tracebench_engine.api.records import tell

pytestmark = pytest.mark.heavy("executor")
Lab = Callable[..., api.RunSummary]


@pytest.fixture
def lab(lab: Lab, install_plugin: Callable[..., None]) -> Lab:
    """Run a config of the lab on the pool."""
    install_plugin("pool", Path(pool_executor.__file__).read_text())

    def run(task: str, *trainers: Any, **config: Any) -> api.RunSummary:
        return lab(task, *trainers, **{"executor": "pool", **config})

    return run


def test_jobs_of_several_workers_are_those_of_the_local_executor(lab: Lab) -> None:
    runs = [
        lab(
            "lab:fine", "RandomSearch", "NoOp", seeds=[1, 2, 3, 4], budget={"evaluations": 6}, max_workers=2, executor=e
        )
        for e in ("pool", "local")
    ]
    mine, local = (api.load_run(run.run_dir).results for run in runs)

    assert runs[0].counts == {"ok": 8}
    assert {i: (r.score_val_best, r.used.evaluations) for i, r in mine.items()} == {
        i: (r.score_val_best, r.used.evaluations) for i, r in local.items()
    }
    assert not (runs[0].run_dir / "pool").exists()


def workers_of(pid: int) -> Iterator[int]:
    """Yield the workers of a run that are there now."""
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(OSError):  # it has just ended
            if b"fake_pool" in Path(f"/proc/{child}/cmdline").read_bytes():
                yield int(child)


def test_a_worker_that_is_killed_loses_its_job_to_another_worker(lab: Lab, tmp_path: Path) -> None:
    process = start(
        tmp_path, tasks=["lab:fine"], trainers=[{"id": "sleeps", "params": {"seconds": 2.0}}], executor="pool"
    )
    worker = wait_for(lambda: [*workers_of(process.pid)])[0]
    wait_for(lambda: any((tmp_path / "runs" / "r" / "jobs").glob("*/events.jsonl")))
    os.kill(worker, signal.SIGKILL)
    told, _ = process.communicate(timeout=120)

    assert process.returncode == 0, told
    assert "is run again" in told


def test_a_killed_run_is_gone_on_with(lab: Lab, tmp_path: Path) -> None:
    process = start(
        tmp_path,
        tasks=["lab:fine"],
        trainers=[{"id": "sleeps", "params": {"seconds": 0.3}}],
        seeds=list(range(4)),
        executor="pool",
    )
    run_dir = tmp_path / "runs" / "r"
    wait_for(lambda: any((run_dir / "jobs").glob("*/results.json")))
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)

    assert resume(run_dir).counts == {"ok": 4}


@pytest.mark.usefixtures("runtime_dir")
def test_a_cancelled_job_is_told_as_cancelled_and_keeps_its_best(lab: Lab, tmp_path: Path) -> None:
    process = start(
        tmp_path, tasks=["lab:fine"], trainers=[{"id": "sleeps", "params": {"seconds": 60.0}}], executor="pool"
    )
    run_dir = tmp_path / "runs" / "r"
    job = wait_for(lambda: [p.parent.name for p in run_dir.glob("jobs/*/events.jsonl") if '"best"' in p.read_text()])[0]
    tell(run_dir, {"do": "cancel", "job": job, "reason": "too slow"})
    process.communicate(timeout=120)

    (result,) = api.load_run(run_dir).results.values()
    assert (result.status, result.stop_reason) == ("cancelled", "cancelled: too slow")
