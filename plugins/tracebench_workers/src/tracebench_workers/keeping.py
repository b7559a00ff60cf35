"""Files of jobs that have ended: put into their places by threads, because each waits for the disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tracebench_core.errors import TraceBenchError, quoted
from tracebench_core.specs import JobOrder
from tracebench_engine.api.records import RunLayout
from tracebench_workers.hub import Told
from tracebench_workers.parcels import ParcelError, unpack
from tracebench_workers.shared import Ground, NotSharedError

DISKS = 16
"""Jobs whose files are put on the disk at the same time: it takes many writes in the time of one."""
ENDS = ("done", "trained", "timeout", "cancelled", "lost", "died")


@dataclass(frozen=True, slots=True)
class WorkerEnd:
    """How a job's process ended; see `JobEnd`."""

    order: JobOrder
    exit: Literal["done", "timeout", "died", "cancelled", "lost", "trained"]
    detail: str


class Taken(NamedTuple):
    """An end that was told of an order."""

    told: Told
    order: JobOrder


class Kept(NamedTuple):
    """What has come of some ends."""

    number: int
    ends: Future[list[WorkerEnd]]
    """Raises `TraceBenchError` where the disk does not take their files."""


class Keeper:
    """Threads that keep files, several at a time; the files of one job are kept by one of them."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(DISKS, thread_name_prefix="files")

    def keep(self, taken: Sequence[Taken], *, ground: Ground | None, tell: Callable[[Kept], None]) -> None:
        """Begin to keep the files of some ends; `tell` is called, in any thread, with all of them once, some at a time."""
        for first in range(min(len(taken), DISKS)):
            some = taken[first::DISKS]
            kept = self._threads.submit(_kept, some, ground)
            kept.add_done_callback(partial(_tell, tell, len(some)))


def _tell(tell: Callable[[Kept], None], number: int, ends: Future[list[WorkerEnd]]) -> None:
    tell(Kept(number, ends))


def _kept(taken: Sequence[Taken], ground: Ground | None) -> list[WorkerEnd]:
    return [_kept_end(told, order, ground) for told, order in taken]


def _kept_end(told: Told, order: JobOrder, ground: Ground | None) -> WorkerEnd:
    name = told.station.name
    exit_: Any = told.words.get("exit")
    detail = str(told.words.get("detail", ""))
    if exit_ not in ENDS:
        exit_, detail = "lost", f"worker {name} tells an end that there is not: {exit_!r:.80}"
    if exit_ != "lost":
        try:
            if told.station.shares and ground is not None:
                ground.take(told.station.session, order.job.job_id)
            else:
                unpack(told.body, RunLayout(Path(order.run_dir)).jobs, only=order.job.job_id)
        except (ParcelError, NotSharedError) as err:
            exit_, detail = "lost", f"its files did not arrive whole: {err}"
        except OSError as err:
            raise TraceBenchError(
                f"The files of job `{order.job.job_id}` cannot be kept here: {err.strerror or err}.",
                hint=f"df -h {quoted(order.run_dir)}",
            ) from err
    return WorkerEnd(order, exit_, detail)
