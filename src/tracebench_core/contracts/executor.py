"""Where jobs run, and who watches them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Literal, Protocol

from tracebench_core.specs import ExecutorSetting, JobResult, JobSpec
from tracebench_core.specs.events import Event
from tracebench_core.specs.order import JobOrder


class JobLogger(Protocol):
    """A sink of one job's events; a failing sink is dropped and never hurts the job."""

    def __call__(self, event: Event, /) -> None: ...
    def close(self) -> None: ...


class Reporter(Protocol):
    """A live view of a run, told of jobs as they start and end."""

    def run_started(self, run_dir: Path, jobs: int) -> None: ...
    def job_started(self, job: JobSpec) -> None: ...
    def job_finished(self, job: JobSpec, result: JobResult) -> None: ...
    def run_finished(self, run_dir: Path, counts: Mapping[str, int]) -> None: ...


class JobEnd(Protocol):
    """How a job's process ended, as its executor saw it."""

    @property
    def order(self) -> JobOrder: ...
    @property
    def exit(self) -> Literal["done", "timeout", "died", "cancelled", "lost", "trained"]:
        """`lost`: the process went down with its executor and may be run again.

        `trained` is no end: the executor goes on with the job's next phase, and tells how the training process ended (`detail`, empty
        where it said so itself) before it does, so that a run that is killed meanwhile need not train again.
        """
        ...

    @property
    def detail(self) -> str: ...


class Executor(Protocol):
    """Runs jobs, each in a process of its own, and says how each ended."""

    def run(self, orders: Iterator[JobOrder | None], *, setting: ExecutorSetting) -> Generator[JobEnd]:
        """Take orders lazily from the iterator while workers are free; yield each job's end as it comes.

        An order of None says that no job may start at present: go on with those that run, and ask again within moments.
        Closing the generator ends every job that still runs; nothing of them is left when it returns.
        """
        ...

    def cancel(self, job_id: str) -> None:
        """End one job that was ordered, from any thread; its end is told as `cancelled`."""
        ...
