"""The core's own executor with one promise broken at a time, installed by tests as the plugin `broken`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from tracebench_core.hookspecs import hookimpl
from tracebench_core.specs import ExecutorSetting, ExecutorSpec, JobOrder
from tracebench_engine.api import open_host
from tracebench_engine.api.executors import ending, run_order
from tracebench_engine.run.local.executor import LocalEnd, LocalExecutor

Orders = Iterator[JobOrder | None]
Ends = Generator[LocalEnd]


class Broken(LocalExecutor):
    """Sound, until a subclass breaks it."""

    def __init__(self) -> None:
        super().__init__("tracebench_engine.builtin.template_main")


class Sound(Broken):
    """As it is."""


class CancelsNothing(Broken):
    def cancel(self, job_id: str) -> None:
        pass


class ForgetsWhoWaits(Broken):
    """Cancels what runs and nothing else."""

    def cancel(self, job_id: str) -> None:
        super().cancel(job_id)
        self._cancelled = _Amnesia({job_id})


class _Amnesia(set[str]):
    """Knows a cancelled job where its end is told, and not where it is started."""

    def __contains__(self, item: object) -> bool:
        return sys._getframe(1).f_code.co_name != "_fill" and super().__contains__(item)


class CancelsAll(Broken):
    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, None] = {}

    def cancel(self, job_id: str) -> None:
        for each in {**self.given, job_id: None}:
            super().cancel(each)

    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        def noted() -> Orders:
            for order in orders:
                if order is not None:
                    self.given[order.job.job_id] = None
                yield order

        yield from super().run(noted(), setting=setting)


class OneAtATime(Broken):
    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        yield from super().run(orders, setting=setting.model_copy(update={"workers": 1}))


class OneTooMany(Broken):
    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        yield from super().run(orders, setting=setting.model_copy(update={"workers": setting.workers + 1}))


class TakesAhead(Broken):
    """Takes orders in threes."""

    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        def ahead() -> Orders:
            while some := [*islice(orders, 3)]:
                yield from some

        yield from super().run(ahead(), setting=setting)


class EndsWhereItIsHeld(Broken):
    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        yield from super().run(iter(lambda: next(orders, None), None), setting=setting)


class TellsTwice(Broken):
    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        for end in super().run(orders, setting=setting):
            yield end
            if end.exit == "done":
                yield end


class NeverScores(Broken):
    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        for end in super().run(orders, setting=setting):
            yield replace(end, exit="done") if end.exit == "trained" else end


class CallsLostDead(Broken):
    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        for end in super().run(orders, setting=setting):
            yield replace(end, exit="died") if end.exit == "lost" else end


class ForgetsLost(Broken):
    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        for end in super().run(orders, setting=setting):
            if end.exit != "lost":
                yield end


class LeavesItsJobs(Broken):
    """Ends none of them when it is closed."""

    kept: list[Any] = []  # noqa: RUF012 - so that nothing of it is collected

    def _close(self) -> None:
        if self._template is not None and not self._template.is_gone:
            self.kept.append(self._template)
            self._template = None
        super()._close()


class Outlived(Broken):
    """Its jobs watch nobody."""

    def __init__(self) -> None:
        super().__init__()
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    def cancel(self, job_id: str) -> None:
        super().cancel(job_id)
        if job_id in self._processes:
            os.killpg(self._processes[job_id].pid, signal.SIGTERM)

    def run(self, orders: Orders, *, setting: ExecutorSetting) -> Ends:
        again: list[JobOrder] = []
        active: dict[str, JobOrder] = {}
        try:
            is_over = False
            while True:
                while len(active) < setting.workers and not is_over:
                    order = again.pop() if again else next(orders, None)
                    if order is None:
                        is_over = True
                        break
                    job_id = order.job.job_id
                    active[job_id] = order
                    process = subprocess.Popen(
                        [sys.executable, "-c", "import fake_broken; fake_broken.work()"],
                        stdin=subprocess.PIPE,
                        env=setting.environ,
                        start_new_session=True,
                    )
                    assert process.stdin is not None
                    process.stdin.write(order.model_dump_json().encode())
                    process.stdin.close()
                    self._processes[job_id] = process
                if not active:
                    return
                for job_id, process in [*self._processes.items()]:
                    try:
                        code = process.wait(0.02)
                    except subprocess.TimeoutExpired:
                        continue
                    del self._processes[job_id]
                    order = active.pop(job_id)
                    exit_, detail = ending(code, asked="cancelled" if job_id in self._cancelled else "")
                    following = order.next_phase(exit_, detail)
                    if following is None:
                        yield LocalEnd(order, exit_, detail)  # type: ignore[arg-type]
                    else:
                        yield LocalEnd(order, "trained", following.ended)
                        again.append(following)
                        is_over = False
        finally:
            for process in self._processes.values():
                os.killpg(process.pid, signal.SIGKILL)


def work() -> None:
    """Run one order in this process."""
    order = JobOrder.model_validate_json(sys.stdin.read())
    os._exit(run_order(order, open_host()))


KINDS = {
    kind.__name__: kind
    for kind in (
        Sound, CancelsNothing, ForgetsWhoWaits, CancelsAll, OneAtATime, OneTooMany, TakesAhead, EndsWhereItIsHeld, TellsTwice, NeverScores,
        CallsLostDead, ForgetsLost, LeavesItsJobs, Outlived,
    )
}  # fmt: skip


@hookimpl
def tracebench_executors() -> list[ExecutorSpec]:
    return [ExecutorSpec(name=name, loader=f"fake_broken:{name}") for name in KINDS]
