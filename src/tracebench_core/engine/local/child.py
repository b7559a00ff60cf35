"""The job's process: its own session, folder, output and seeds; from an order to a `results.json` that awaits its commit."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import TypeVar

from tracebench_core.engine.doors import open_doors
from tracebench_core.engine.finish import Leftover, conclude, finish_job
from tracebench_core.engine.job import JobStopped, train_job
from tracebench_core.engine.local import kernel
from tracebench_core.engine.local.template import DISK_REFUSED, DONE, STOPPED
from tracebench_core.engine.seeds import seed_process
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import JobOrder, JobResult
from tracebench_core.specs.events import Event
from tracebench_core.store.blobs import BlobStore
from tracebench_core.store.eventlog import read_events
from tracebench_core.store.layout import JobLayout, RunLayout
from tracebench_core.store.writer import EventWriter

E = TypeVar("E", bound=Event)
UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO})


class JobLog(EventWriter):
    """The job's events, kept as they are written: reducing them needs no second reading."""

    def __init__(self, layout: JobLayout, before: Iterable[Event] = ()) -> None:
        super().__init__(layout)
        self._events = list(before)

    def write(self, event: E) -> E:
        """See `EventWriter`."""
        written = super().write(event)
        self._events.append(written)
        return written

    @property
    def events(self) -> list[Event]:
        """All events in their order, whichever threads wrote them."""
        return sorted(self._events, key=lambda event: event.seq)


def run_order(order: JobOrder, host: PluginHost) -> int:
    """Run one order in this process, which is given up to it; return the process's exit code."""
    layout = RunLayout(Path(order.run_dir)).job(order.job.job_id)
    if order.phase == "train":
        layout.fresh()
    _enter(layout)
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, _stop)
    try:
        if order.phase == "train":
            host.run_job(
                order.job,
                job_dir=layout.path,
                execute=lambda job: execute(order.model_copy(update={"job": job}), host),
            )
        else:
            execute(order, host)
    except JobStopped:
        return STOPPED
    except OSError as err:
        if err.errno not in UNWRITABLE:
            raise
        sys.stderr.write(f"{err}\n")
        return DISK_REFUSED
    return DONE


def execute(order: JobOrder, host: PluginHost) -> JobResult:
    """Train, or finish what an ended process left, and write the job's files."""
    layout = RunLayout(Path(order.run_dir)).job(order.job.job_id)
    before = read_events(layout).events if order.phase == "finish" else ()
    left = Leftover(before, BlobStore(layout.blobs)) if order.phase == "finish" else None
    job_log = JobLog(layout, before)
    with open_doors(order, host, job_log) as doors:
        seed_process(order.job.seed)
        if left is None:
            train_job(order, doors)
        else:
            finish_job(order, doors, left)
    job_log.close(durable=False)
    return conclude(layout, order.job, events=job_log.events)


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
    for asked in (signal.SIGTERM, signal.SIGINT):
        signal.signal(asked, signal.SIG_IGN)
    raise JobStopped
