"""One candidate, alive in its own process, called step by step."""

from __future__ import annotations

import ctypes
import fcntl
import mmap
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from copy import copy
from typing import Any

from tracebench_core.contracts import NotMeasured
from tracebench_core.specs.sandbox import Limits, Outcome
from tracebench_sandbox.codec import CodecError
from tracebench_sandbox.exchange import ORDER, SOON, Exchange, Request, code_order, read_answer, unsendable
from tracebench_sandbox.flat import Answer, Packer
from tracebench_sandbox.frames import EMPTY, LATER

SHORT, LONG = 0.0005, 0.002
"""Seconds of processors: calls of less are reason to stay near, one of more is reason to part. What a call waits for tells nothing."""
ENOUGH = 8
"""Short calls in a row before the process is moved, so that a few calls cost nothing."""
_CHANNEL = 3
_core: Callable[[], int] = ctypes.PyDLL(None).sched_getcpu


class Near:
    """Moves one process, once its caller knows it by what it holds: the other end of a socket."""

    def __init__(self, pid: Callable[[], int], *, channel: int, may: bool = True) -> None:
        """`pid` tells the process, 0 while it is unknown; `channel` is the number of the socket (`st_ino`) that it has as descriptor 3.

        Without `may`, nothing is ever moved.
        """
        self._pid = pid
        self._channel = channel
        self._short = 0
        self._at = -1
        self._cores: set[int] = set()
        self._may = may

    def begin(self) -> None:
        """Have the process on this thread's core for the call that begins, if calls have been short."""
        if self._may and self._short >= ENOUGH and _core() != self._at:
            self._move(_core())

    def end(self, seconds: float | None) -> None:
        """Learn what the call took of processors; None where nobody knows."""
        if seconds is None or seconds > LONG:
            self._short = 0
            self.part()
        elif seconds < SHORT:
            self._short += 1

    def part(self) -> None:
        """Let the process and its threads, which take their cores from whoever starts them, use all that they might before."""
        if self._at >= 0:
            self._at = -1
            with suppress(OSError):
                pid = self._known()
                for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a call is under way
                    with suppress(OSError):  # it has just ended
                        os.sched_setaffinity(int(thread), self._cores)

    def _move(self, core: int) -> None:
        try:
            pid = self._known()
            if self._at < 0:
                self._cores = os.sched_getaffinity(pid)
            os.sched_setaffinity(pid, {core})
            self._at = core
        except OSError:  # it has gone, is out of sight, or may not be where its caller is
            self._may = False

    def _known(self) -> int:
        """Return the process; raises OSError when whoever has its number is another."""
        pid = self._pid()
        if pid <= 0 or os.stat(f"/proc/{pid}/fd/{_CHANNEL}").st_ino != self._channel:  # noqa: PTH116 - as above
            raise ProcessLookupError
        return pid


_NEVER = float("inf")
_ANSWERED = Outcome(status="ok", value=None, seconds=0.0, cpu_seconds=None)
_CPU_TIME = 2
"""What `clock_gettime` is asked of a process, in the low bits of the clock's number (`MAKE_PROCESS_CPUCLOCK` of the system's headers)."""


class Clock:
    """The deadline of the call under way, where the template reads it too: it ends a child whose caller cannot; and whose time to read."""

    def __init__(self) -> None:
        self._fd = os.memfd_create("deadline", os.MFD_CLOEXEC)
        os.ftruncate(self._fd, mmap.PAGESIZE)
        self._page = memoryview(mmap.mmap(self._fd, mmap.PAGESIZE))
        self._due, self._pid = self._page[:8].cast("d"), self._page[8:16].cast("q")
        self.set(_NEVER)

    def fileno(self) -> int:
        """Return the descriptor that the template is given."""
        return self._fd

    def set(self, deadline: float) -> None:
        """Write when the child must be gone, on the monotonic clock; infinity between calls.

        All eight bytes at once: `struct` writes them one by one, and half of a deadline and half of infinity is a time long past.
        """
        self._due[0] = deadline

    def child(self) -> int:
        """Return the child; 0 while it is unknown."""
        return self._pid[0]

    def used(self) -> float | None:
        """Return the child's processor time so far; None where it cannot be told."""
        pid = self._pid[0]
        if pid <= 0:
            return None
        try:
            return time.clock_gettime((~pid << 3) | _CPU_TIME)
        except OSError:
            return None

    def close(self) -> None:
        """Close. Idempotent."""
        if self._fd >= 0:
            for view in (self._due, self._pid, self._page):
                view.release()
            os.close(self._fd)
            self._fd = -1


class _Memory:
    """Memory that both sides map. Its size is sealed: what is mapped here cannot be taken away from there."""

    def __init__(self, megabytes: int) -> None:
        size = megabytes << 20
        self.fd = os.memfd_create("shared", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.fd, size)
            fcntl.fcntl(self.fd, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL)
            self.view = memoryview(mmap.mmap(self.fd, size))
        except BaseException:
            os.close(self.fd)
            raise

    def close(self) -> None:
        """Forget it; it is unmapped with the last array that lies in it. Idempotent."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd, self.view = -1, memoryview(b"")


class LocalSession:
    """Implements `contracts.Session`. Its seconds are spent while a call runs, not while its caller thinks.

    It lives once its request is sent; whoever could not send it closes it.
    """

    def __init__(self, code: str, entry: str, *, limits: Limits, prelude: str) -> None:
        self._lock = threading.Lock()
        self._left = limits.clock_seconds
        self._count = -1
        self._used: float | None = 0.0
        self._packer = Packer(ORDER)
        self._final: Outcome | None = None
        self._exchange: Exchange | None = None
        frame = code_order(code, entry, prelude=prelude, inputs=None, limits=limits)
        self._clock = Clock()
        self._memory: _Memory | None = None
        try:
            self._memory = _Memory(limits.shared_mb) if limits.shared_mb else None
        except BaseException:
            self._release()
            raise
        besides = [self._clock.fileno(), *([] if self._memory is None else [self._memory.fd])]
        self.request = Request("code", frame, limits, self._begin, besides=besides, due=self._clock.set)

    @property
    def shared(self) -> memoryview:
        """See `contracts.Session`."""
        return memoryview(b"") if self._memory is None else self._memory.view

    def call(self, *args: Any, entry: str | None = None) -> Outcome:
        """See `contracts.Session`."""
        with self._lock:
            if self._final is not None or self._exchange is None:
                return self._final or Outcome(status="killed", error="The session is not open.")
            self._count += 1
            return self._ask(self._exchange, self._packed(args, entry) if args or entry is not None else EMPTY)

    def close(self) -> None:
        """See `contracts.Session`."""
        with self._lock:
            if self._final is None:
                self._finish(Outcome(status="killed", error="The session is closed."))

    def __enter__(self) -> LocalSession:
        """Return itself."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close."""
        self.close()

    def _begin(self, exchange: Exchange) -> None:
        """Wait until the code is loaded."""
        self._exchange = exchange
        self._near = Near(self._clock.child, channel=exchange.number, may=exchange.limits.core is None)
        try:
            loaded = self._answer(exchange, exchange.started, alive=exchange.took)
        except BaseException:
            exchange.close()
            self._exchange = (
                None  # it may be asked for once more, with the same page and memory: `close` lets go of them
            )
            raise
        if loaded.status != "ok":
            self._finish(loaded)

    def _packed(self, args: Sequence[Any], entry: str | None) -> bytes:
        try:
            return self._packer.call(self._count, entry or "", args)
        except CodecError as err:
            raise unsendable(err) from err

    def _ask(self, exchange: Exchange, frame: bytes) -> Outcome:
        started = time.monotonic()
        self._clock.set(started + self._left)
        self._near.begin()
        alive = exchange.send(frame, deadline=started + self._left)
        return self._answer(exchange, started, alive=alive)

    def _answer(self, exchange: Exchange, started: float, *, alive: bool) -> Outcome:
        try:
            message = exchange.take_soon() if alive and self._left > SOON else LATER
            if message is LATER:
                self._near.part()
                found = self._awaited(exchange, started + self._left, alive=alive)
                if isinstance(found, Outcome):
                    return self._finish(found)
                (message,) = found if len(found) == 1 else [{}]  # more than one is no answer
            place, fields = read_answer(message)
            if place is not None and place != self._count:
                raise CodecError("is no answer")
        except CodecError as err:
            return self._finish(exchange.refusal(err))
        self._clock.set(_NEVER)
        seconds = time.monotonic() - started
        self._left -= seconds
        before, self._used = self._used, self._clock.used()
        cpu = None if before is None or self._used is None else self._used - before
        self._near.end(cpu)
        if type(message) is not Answer:
            return Outcome(**fields, seconds=seconds, cpu_seconds=cpu)
        outcome = copy(_ANSWERED)  # to validate what was just checked would make a step a tenth longer
        vars(outcome).update(fields, seconds=seconds, cpu_seconds=cpu)
        return outcome

    def _awaited(self, exchange: Exchange, deadline: float, *, alive: bool) -> list[Any] | Outcome:
        """Return the messages that come, or how the child ended without any."""
        while not (found := list(exchange.inbox.messages())):
            if not (alive and exchange.wait(deadline=deadline)):
                late = exchange.report is None and time.monotonic() >= deadline
                if not late and exchange.report is None:
                    exchange.end()
                    continue
                return self._death(exchange, late=late)
        return found

    def _death(self, exchange: Exchange, *, late: bool) -> Outcome:
        try:
            return exchange.death(late=late)
        except NotMeasured as err:
            self._finish(Outcome(status="killed", error=f"The session is over: {err}."))
            raise

    def _finish(self, outcome: Outcome) -> Outcome:
        """Let go of the child, which ends it, whatever it is still doing; nobody waits until it is reaped."""
        self._final = outcome
        self._release()
        return outcome

    def _release(self) -> None:
        if self._exchange is not None:
            self._exchange.close()
        self._clock.close()
        if self._memory is not None:
            self._memory.close()
