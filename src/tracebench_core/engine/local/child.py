"""The job's process: its own session, folder, output and seeds; from an order's JSON to a durable `results.json`."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from types import FrameType

from tracebench_core.engine.doors import open_doors
from tracebench_core.engine.finish import Leftover, conclude, finish_job
from tracebench_core.engine.job import JobStopped, train_job
from tracebench_core.engine.local import kernel
from tracebench_core.engine.local.template import DONE, STOPPED
from tracebench_core.engine.seeds import seed_process
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import JobOrder, JobResult
from tracebench_core.store.blobs import BlobStore
from tracebench_core.store.layout import JobLayout, RunLayout
from tracebench_core.store.meta import write_job_meta
from tracebench_core.store.reader import read_events
from tracebench_core.store.writer import EventWriter


def run_order(text: str, host: PluginHost) -> int:
    """Run one order in this process, which is given up to it; return the process's exit code."""
    order = JobOrder.model_validate_json(text)
    layout = RunLayout(Path(order.run_dir)).job(order.job.job_id)
    if order.phase == "train":
        layout.fresh()
    _enter(layout)
    signal.signal(signal.SIGTERM, _stop)
    try:
        if order.phase == "train":
            write_job_meta(layout, order.job, status="running")
            host.run_job(
                order.job,
                job_dir=layout.path,
                execute=lambda job: execute(order.model_copy(update={"job": job}), host),
            )
        else:
            execute(order, host)
    except JobStopped:
        return STOPPED
    return DONE


def execute(order: JobOrder, host: PluginHost) -> JobResult:
    """Train, or finish what an ended process left, and write the job's files."""
    layout = RunLayout(Path(order.run_dir)).job(order.job.job_id)
    left = Leftover(read_events(layout).events, BlobStore(layout.blobs)) if order.phase == "finish" else None
    writer = EventWriter(layout)
    with open_doors(order, host, writer) as doors:
        seed_process(order.job.seed)
        if left is None:
            train_job(order, doors)
        else:
            finish_job(order, doors, left)
    writer.close()
    return conclude(layout, order.job)


def _enter(layout: JobLayout) -> None:
    kernel.adopt_orphans()
    workdir = layout.path / "work"
    workdir.mkdir(parents=True, exist_ok=True)
    os.chdir(workdir)
    output = os.open(layout.stdout, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)
    os.close(nothing)
    sys.stdout = os.fdopen(1, "w", buffering=1, errors="backslashreplace", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace", closefd=False)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise JobStopped
