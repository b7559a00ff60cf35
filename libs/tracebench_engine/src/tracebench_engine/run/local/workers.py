"""The processes of a template that run orders one after the other: which of them takes one, and which are used again."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable

from tracebench_core.specs import JobOrder
from tracebench_engine.job import kernel
from tracebench_engine.job.execution import DONE, TRAINED
from tracebench_engine.run.local.forking import fork_child
from tracebench_engine.run.local.hold import NotSetBackError
from tracebench_engine.run.local.memory import Base
from tracebench_engine.run.local.worker import ENOUGH, Worker, live, why_not

WORTH = 8
"""An image takes about as long as so many orders save: it is made after as many, and later one for as many that were set back."""
FREE = 8
"""Images beyond these."""
MOST_IN_VAIN = 5
"""After so many in a row that could not be set back none is tried any more."""
LARGEST_ORDER = 100_000
"""Bytes that a socket takes without anybody reading: nobody waits for who does not."""
GOOD = frozenset({DONE, TRAINED})


class Workers:
    """The processes of a template that run orders one after the other."""

    def __init__(self, run_child: Callable[[JobOrder], int], *, close: Callable[[], None]) -> None:
        """`close` closes in a forked process what is its template's."""
        self._run_child = run_child
        self._close = close
        self._idle: list[Worker] = []
        self._all: set[Worker] = set()
        self._base = Base()
        self._asked = self._made = self._set_back = self._in_vain = 0
        self._goes_on = not why_not()

    @property
    def idle(self) -> set[int]:
        """Those that wait."""
        return {worker.pid for worker in self._idle}

    def take(self, order: bytes) -> Worker | None:
        """Have an order run; None where a process of its own is to be forked for it."""
        self._asked += 1
        if len(order) > LARGEST_ORDER:
            return None
        while (worker := self._idle.pop() if self._idle else self._new()) is not None:
            if why := worker.unsettled():
                self._tell(why)
            elif worker.take(order):
                if worker.orders:
                    self._in_vain = 0
                    self._set_back += 1
                return worker
            self._end(worker)
        return None

    def give_back(self, worker: Worker, *, is_ended: bool) -> int | None:
        """Set a process back that has told an order's end, or end it; return the code of that end, as `kernel.reap` does."""
        code = worker.told()
        if code in GOOD and not is_ended:
            why = worker.set_back()
            if not why:
                self._idle.append(worker)
                return code
            self._tell(why)
        ended = self._end(worker)
        return ended if code is None else code

    def close(self) -> None:
        """In a forked process: close what leads to the others."""
        for worker in self._all:
            worker.close(forget=False)

    def _new(self) -> Worker | None:
        if not self._goes_on or self._asked <= WORTH or self._made >= FREE + self._set_back // WORTH:
            return None
        self._made += 1
        ours, theirs = socket.socketpair()
        pid = fork_child(lambda: self._live(ours, theirs), close=self._close)
        try:
            worker = Worker(pid, ours, theirs, self._base)
        except (NotSetBackError, OSError) as err:
            self._tell(str(err))
            ours.close()
            theirs.close()
            _kill(pid)
            return None
        self._all.add(worker)
        return worker

    def _live(self, ours: socket.socket, theirs: socket.socket) -> int:
        ours.close()
        live(theirs, self._run_child, parent=os.getppid())

    def _end(self, worker: Worker) -> int | None:
        self._all.discard(worker)
        worker.close()
        return _kill(worker.pid)

    def _tell(self, why: str) -> None:
        """Say once in a while why a process was not set back, and fork one for each order where none ever is."""
        if why == ENOUGH:
            return
        self._in_vain += 1
        if self._in_vain <= MOST_IN_VAIN:
            sys.stderr.write(f"a job's process was not used again: {why}\n")
        if self._in_vain >= MOST_IN_VAIN:
            self._goes_on = False


def _kill(pid: int) -> int | None:
    kernel.kill_group(pid)
    kernel.kill(pid)
    return kernel.reap(pid)
