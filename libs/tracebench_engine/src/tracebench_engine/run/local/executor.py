"""The local executor: jobs on this machine, a process each, forked from a warm template."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import count
from typing import Any, Literal

from tracebench_core.errors import TraceBenchError, quoted
from tracebench_core.specs import ExecutorSetting, JobOrder
from tracebench_engine.job.execution import unwritable
from tracebench_engine.measure.wire import Wire
from tracebench_engine.run.local.outside import HERE, Outside
from tracebench_engine.run.local.process import TemplateProcess

log = logging.getLogger(__name__)

MOST_RESTARTS = 3
HELD_SECONDS = 0.1
"""How often a run that starts nothing at present is asked again."""


@dataclass(frozen=True, slots=True)
class LocalEnd:
    """How a job's process ended; see `JobEnd`."""

    order: JobOrder
    exit: Literal["done", "timeout", "died", "cancelled", "lost", "trained"]
    detail: str


class LocalExecutor:
    """Starts `python -m <entry>` as the template, feeds it orders, and has each job's training followed by scoring in a fresh process.

    `entry` composes the template's plugin host; it is started with `--fd N --scoring-fd M`; the first
    tells it the run's `ExecutorSetting`.
    """

    def __init__(self, entry: str, *, outside: Outside = HERE) -> None:
        """`outside`: how processes are started, heard and killed, where that is not done on this machine."""
        self._entry = entry
        self._outside = outside
        self._template: TemplateProcess | None = None
        self._cancelled: set[str] = set()
        self._numbers = count(1)
        self._twins_seconds = 0.0

    def run(self, orders: Iterator[JobOrder | None], *, setting: ExecutorSetting) -> Generator[LocalEnd]:
        """Run orders as workers are free; yield each job's end once nothing of it is running any more."""
        active: dict[str, JobOrder] = {}
        again: deque[JobOrder] = deque()
        restarts = 0
        try:
            while True:
                held = self._fill(active, again, orders, setting=setting)
                if not active and not held:
                    return
                for message in self._wait(HELD_SECONDS if held else None):
                    if message["exit"] == "cancelled" and message["end"] not in self._cancelled:
                        continue  # the template was told to end by somebody else: its jobs go to the next one
                    order = active.pop(message["end"])
                    if message["exit"] == "unwritable":
                        raise unwritable(order, message["detail"])
                    following = order.next_phase(message["exit"], message["detail"])
                    if following is None:
                        yield LocalEnd(order, message["exit"], message["detail"])
                    else:
                        yield LocalEnd(order, "trained", following.ended)
                        again.append(following)
                    restarts = 0
                if self._template is not None and self._template.is_gone:
                    restarts += 1
                    if restarts > MOST_RESTARTS:
                        raise TraceBenchError(
                            "The process that holds the jobs keeps ending.",
                            hint=f"cat {quoted(setting.run_dir)}/template.log",
                        )
                    log.warning("the job template ended, and its %d jobs with it", len(active))
                    self._close()
                    lost = [LocalEnd(order, "lost", "the process ended with its template") for order in active.values()]
                    active.clear()
                    yield from lost
        finally:
            self._close()

    def _fill(
        self,
        active: dict[str, JobOrder],
        again: deque[JobOrder],
        orders: Iterator[JobOrder | None],
        *,
        setting: ExecutorSetting,
    ) -> bool:
        """Start jobs, and a template first, while workers are free; return whether there may be more later, though none may start now."""
        while len(active) < setting.workers:
            try:
                order = again.popleft() if again else next(orders)
            except StopIteration:
                return False
            if order is None:
                return True
            active[order.job.job_id] = order
            self._opened(setting).start(order)
            if order.job.job_id in self._cancelled:  # asked before there was anything to end
                self.cancel(order.job.job_id)
        return False

    def cancel(self, job_id: str) -> None:
        """Ask one running job to end, from any thread."""
        self._cancelled.add(job_id)
        if self._template is not None:
            self._template.cancel(job_id)

    def cpu_seconds(self) -> float:
        """See `CountsProcessors`: of the processes that score, which are nobody's children."""
        return self._twins_seconds

    def _opened(self, setting: ExecutorSetting) -> TemplateProcess:
        if self._template is None:
            self._template = TemplateProcess(self._entry, setting, outside=self._outside, numbers=self._numbers)
        return self._template

    def _wait(self, seconds: float | None) -> list[dict[str, Any]]:
        if self._template is not None:
            return self._template.wait(seconds)
        self._outside.ready([], HELD_SECONDS if seconds is None else seconds)  # nothing was started yet
        return []

    def _close(self) -> None:
        if self._template is not None:
            self._template.close()
            self._twins_seconds += self._template.twins_seconds
            self._template = None


def read_setting(wire: Wire) -> ExecutorSetting:
    """In the template: return what the runner tells first."""
    first = wire.receive_one()
    if first is None:
        raise SystemExit("the runner ended before it said what to run")
    return ExecutorSetting.model_validate(first["setting"])
