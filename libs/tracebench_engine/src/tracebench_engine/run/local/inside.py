"""What only a process itself can tell or set of itself: where it was at some moment, and that it is there again.

Once it is set back from outside, its own code is what it was, and can be believed. Written for Linux on x86-64; of what a kernel does not
have, its refusal is compared.

Sources: prctl(2), arch_prctl(2), sigaltstack(2), brk(2), madvise(2), mlockall(2), ioprio_set(2), set_mempolicy(2), sched_setattr(2),
io_uring_enter(2); Linux `Documentation/userspace-api/landlock.rst`, by which who is confined more than another may not look into it.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Iterator
from pathlib import Path

BY_VALUE = {
    "dumpable": 3,
    "keeping of capabilities": 7,
    "timing": 13,
    "secure bits": 27,
    "timers' slack": 30,
    "what a broken page does": 34,
    "flushing": 58,
    "refusal to write and execute": 66,
    "merging of memory": 68,
}
"""`PR_GET_*` that return what they tell."""
BY_REFERENCE = {"reading of the clock's register": 25, "place told of its end": 40}
SET_ADOPTING, GET_ADOPTING = 36, 37
ARCH_PRCTL, ARCH_GET_CPUID = 158, 0x1011
GET_MEMPOLICY, IOPRIO_GET, SCHED_GETATTR, IO_URING_ENTER = 239, 252, 315, 426
REGISTERED_RING, MOST_RINGS = 16, 16
DO_FORK, KEEP_ON_FORK = 11, 19
OWN_FLAGS = (" wf", " dc", " io", " pf", " dp")
"""Of memory whose advice is its own: wiped or left out in a fork, of a device or the kernel, droppable."""
TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_libc = ctypes.CDLL(None, use_errno=True)
_libc.sbrk.argtypes, _libc.sbrk.restype = [ctypes.c_long], ctypes.c_void_p
_libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]


class _Stack(ctypes.Structure):
    _fields_ = (("at", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


class Inside:
    """A process's own view of itself at the moment of its making."""

    def __init__(self) -> None:
        self._stack = _Stack()
        _libc.sigaltstack(None, ctypes.byref(self._stack))
        self._adopts = _by_reference(GET_ADOPTING)[1]
        self._told = _told()
        self._plain = list(_plain_memory())
        self._break = _libc.sbrk(0)

    def set_back(self) -> str:
        """Set back what can be set, and return what differs all the same; empty where nothing does."""
        for timer in TIMERS:
            signal.setitimer(timer, 0)
        _libc.sigaltstack(ctypes.byref(self._stack), None)
        _libc.prctl(SET_ADOPTING, self._adopts, 0, 0, 0)
        _libc.munlockall()
        for start, end in self._plain:
            for advice in (DO_FORK, KEEP_ON_FORK):
                _libc.madvise(start, end - start, advice)
        if _libc.sbrk(0) != self._break and (_libc.brk(ctypes.c_void_p(self._break)) or _libc.sbrk(0) != self._break):
            return "the end of its data"
        now = _told()
        return next((name for name, value in self._told.items() if now[name] != value), "")


def _told() -> dict[str, object]:
    found: dict[str, object] = {name: _result(_libc.prctl(number, 0, 0, 0, 0)) for name, number in BY_VALUE.items()}
    found |= {name: _by_reference(number) for name, number in BY_REFERENCE.items()}
    found["reading of the processor's kind"] = _result(_libc.syscall(ARCH_PRCTL, ARCH_GET_CPUID, 0))
    found["priority of its disk"] = _result(_libc.syscall(IOPRIO_GET, 1, 0))
    mode = ctypes.c_int()
    found["policy of memory"] = _result(_libc.syscall(GET_MEMPOLICY, ctypes.byref(mode), 0, 0, 0, 0)), mode.value
    attributes = ctypes.create_string_buffer(56)
    found["scheduling"] = _result(_libc.syscall(SCHED_GETATTR, 0, attributes, len(attributes), 0)), attributes.raw
    found["rings"] = [
        _result(_libc.syscall(IO_URING_ENTER, number, 0, 0, REGISTERED_RING, 0, 0)) for number in range(MOST_RINGS)
    ]
    found["confinement"] = os.access(f"/proc/{os.getppid()}/ns/pid", os.F_OK)
    return found


def _by_reference(number: int) -> tuple[tuple[int, int], int]:
    word = ctypes.c_ulong()
    return _result(_libc.prctl(number, ctypes.byref(word), 0, 0, 0)), word.value


def _result(value: int) -> tuple[int, int]:
    return value, ctypes.get_errno() if value < 0 else 0


def _plain_memory() -> Iterator[tuple[int, int]]:
    """Yield where memory lies that has no advice of its own, in few ranges; between two of them there is none, or other."""
    start = end = 0
    first = last = 0
    for line in Path("/proc/self/smaps").read_text().splitlines():
        head = line.partition(" ")[0]
        if "-" in head:
            first, last = (int(part, 16) for part in head.split("-"))
        elif head == "VmFlags:":
            if not any(flag in line for flag in OWN_FLAGS):
                start, end = start or first, last
            elif start:
                yield start, end
                start = 0
    if start:
        yield start, end
