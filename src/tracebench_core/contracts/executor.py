"""Where jobs run, and who watches them."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, runtime_checkable

if TYPE_CHECKING:  # an executor's plugin is imported when it is listed, for which the models of jobs need not be built
    from tracebench_core.specs import ExecutorSetting, JobResult, JobSpec
    from tracebench_core.specs.events import Event
    from tracebench_core.specs.order import JobOrder, WorkerState


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
        """What the end was.

        `done`, `trained`, `died`: what `ending` reads in the exit code. `timeout`: the process was ended at `order.time_limit`.
        `cancelled`: it was ended by `cancel`, or with the run. `lost`: it went down with what it ran in (a worker, a machine), nothing
        is known of the job, and it may be run again.

        `trained` is no end of the job: told, with the following order's `ended` as its detail, before the job's next phase begins.
        """
        ...

    @property
    def detail(self) -> str:
        """In words, for people."""
        ...


class Executor(Protocol):
    """Runs jobs, each phase in a process of its own, and says how each ended.

    What follows which end is the engine's decision: the executor asks `order.next_phase(exit, detail)` of each process that has ended.
    None: it yields the end. An order: it yields `trained` and runs that order as any other, before orders that it has not taken yet. In
    the process it calls `run_order` (module `api.executors`), with a host of the setting's plugins. An order crosses to the process as
    JSON; the order of a scoring holds secrets that no training may see. Orders name the run directory by its path, and the run's
    helpers by addresses: an executor on another machine has to share both.
    """

    def run(self, orders: Iterator[JobOrder | None], *, setting: ExecutorSetting) -> Generator[JobEnd]:
        """Take orders lazily from the iterator while fewer than `setting.workers` jobs run; yield each job's end as it comes.

        An order of None says that no job may start at present: go on with those that run, and ask again within moments. May be called
        again, after it is exhausted, with jobs that are to be run once more. Closing the generator ends every job that still runs;
        nothing of them is left when it returns, nor when this process is killed.

        Raises:
            OSError: when a job's files cannot be written (`unwritable`): the run cannot go on.
        """
        ...

    def cancel(self, job_id: str) -> None:
        """End one job that was ordered, from any thread; its end is told as `cancelled`."""
        ...


@runtime_checkable
class CountsProcessors(Protocol):
    """What an executor may offer beside: the processors' time of what it ran in no descendant of the runner's process."""

    def cpu_seconds(self) -> float:
        """Return the seconds of processors, of processes that have ended; asked once the run is over."""
        ...


@runtime_checkable
class Placed(Protocol):
    """What an executor may offer beside: where its jobs are. `ps`, `watch`, `logs` and the viewer show it."""

    def places(self) -> list[WorkerState]:
        """Return the workers that there are; called from any thread."""
        ...
