"""Bound an evaluation in time: it runs in a thread of its own, which is told to end when its time is over, and left when it does not.

Python code is interrupted between two of its instructions. A call into C that does not come back cannot be: its thread is left behind,
what it brings in the end is dropped, and the end of the job ends it.
"""

from __future__ import annotations

import contextvars
import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn, TypeVar

T = TypeVar("T")
GRACE_SHARE = 0.1
LEAST_GRACE = 1.0
"""Seconds; a task that minds its deadline has so long, or a tenth of its time, to say so itself before it is ended."""
PARTING_SECONDS = 0.5
"""How long a thread that was told to end is waited for."""


class OutOfTime(BaseException):
    """Raised inside an evaluation whose time is over."""


class Overdue(Exception):  # noqa: N818 - says what happened to the evaluation
    """An evaluation was ended because its time was over."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the evaluation took longer than {seconds:g} s")


class Gate:
    """Keeps an evaluation that is over out of the engine, and its end away from the engine's own code.

    Its locks are bare ones: an event or a condition takes its lock in Python code, where the end of a thread could come
    between taking it and the promise to give it back, and whoever waits for it would wait for ever.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._closed = False
        self._left = False

    def passed(self) -> Passage:
        """Hold while the evaluation asks the engine for something; raises OutOfTime before and after it when time is over."""
        return Passage(self, asking=True)

    def held(self) -> Passage:
        """Hold while the evaluation gives something back, which it may also when its time is over."""
        return Passage(self, asking=False)

    def enter(self, *, asking: bool) -> None:
        """Count a thread as inside; where it asks for something, and time is over, it is let in no more."""
        with self._lock:
            self._inside += 1
        if asking and self._closed:
            self.exit(asking=False)
            raise OutOfTime

    def exit(self, *, asking: bool) -> None:
        """Count a thread as outside again."""
        with self._lock:
            self._inside -= 1
        if asking and self._closed:
            raise OutOfTime

    def leave(self) -> None:
        """Say that the evaluation's thread is about to end: its number may then be another thread's."""
        with self._lock:
            self._left = True

    def close(self, thread: int) -> None:
        """Let nothing through any more, and end the thread unless it is inside; then it ends when it comes out.

        A traced thread (a debugger, a measurement of coverage) ends at the gate alone: it may be in the tracer, which has locks, too.
        """
        with self._lock:
            self._closed = True
            if not (self._inside or self._left) and threading.gettrace() is None:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(OutOfTime))


class Passage:
    """The time that a thread is inside: a class, which is entered in fewer steps than a generator."""

    __slots__ = ("_asking", "_gate")

    def __init__(self, gate: Gate, *, asking: bool) -> None:
        self._gate = gate
        self._asking = asking

    def __enter__(self) -> None:
        """Go in."""
        self._gate.enter(asking=self._asking)

    def __exit__(self, kind: object, *_: object) -> None:
        """Come out; with an error of its own, it is that error."""
        self._gate.exit(asking=self._asking and kind is None)


def bounded(work: Callable[[], T], seconds: float, gate: Gate) -> T:
    """Return what `work` returns, or raise what it raises.

    Raises:
        Overdue: when it takes longer than `seconds` and the grace upon it.
    """
    outcome: list[Callable[[], T]] = []
    running = threading.Lock()
    running.acquire()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            value = context.run(work)
            outcome.append(lambda: value)
        except OutOfTime:
            pass
        except BaseException as err:  # noqa: BLE001 - raised again in the thread that waits
            outcome.append(_raiser(err))
        gate.leave()
        running.release()

    def quietly() -> None:
        with suppress(OutOfTime):  # it may still come between the last two lines
            run()

    thread = threading.Thread(target=quietly, name="bounded evaluation", daemon=True)
    thread.start()
    if not running.acquire(timeout=seconds + max(LEAST_GRACE, GRACE_SHARE * seconds)):
        gate.close(thread.ident or 0)
        running.acquire(timeout=PARTING_SECONDS)
        raise Overdue(seconds)
    if not outcome:
        raise Overdue(seconds)
    return outcome[0]()


def _raiser(err: BaseException) -> Callable[[], NoReturn]:
    def again() -> NoReturn:
        raise err

    return again
