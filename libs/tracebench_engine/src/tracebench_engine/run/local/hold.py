"""Hold a child where it is, and set it back to where it was: its registers, read and written while it stands still.

Sources: ptrace(2) `PTRACE_SEIZE`, `PTRACE_INTERRUPT`, `PTRACE_GETREGSET`, `PTRACE_GET_RSEQ_CONFIGURATION`; elf.h `NT_PRSTATUS`,
`NT_X86_XSTATE`; get_robust_list(2).
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17
GET_REGISTERS, SET_REGISTERS = 0x4204, 0x4205
KILL_WITH_TRACER = 0x00100000
"""`PTRACE_O_EXITKILL`: who is held ends with who holds."""
STOPPED_BY_US = 128
"""`PTRACE_EVENT_STOP`."""
GET_SEQUENCES, GET_DISPATCH = 0x420F, 0x4211
ROBUST_LIST = 274
GENERAL, EXTENDED = 1, 0x202
"""Sets of registers: the second holds all of vectors, their modes, and the rights of keys for memory."""
MOST_BYTES = 1 << 14
PATIENCE, PAUSE = 2.0, 0.00005
"""Seconds until a process must stand still, and between two looks."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_libc.ptrace.restype = ctypes.c_long


class NotSetBackError(Exception):
    """A process cannot be set back, and why; whoever asked ends it."""


class _Buffer(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@contextmanager
def held(pid: int) -> Iterator[None]:
    """Hold a child of this process in the block.

    Raises:
        NotSetBackError: when it may not be held, has ended, or a signal is on its way to it.
    """
    _ask(SEIZE, pid, 0, KILL_WITH_TRACER)
    _ask(INTERRUPT, pid)
    until = time.monotonic() + PATIENCE
    while (seen := os.waitid(os.P_PID, pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT | os.WNOHANG)) is None:
        if time.monotonic() > until:
            raise NotSetBackError("it does not stand still")
        time.sleep(PAUSE)
    if seen.si_code != os.CLD_TRAPPED:
        raise NotSetBackError("it has ended")
    _, status = os.waitpid(pid, 0)
    if status >> 8 != signal.SIGTRAP | STOPPED_BY_US << 8:
        raise NotSetBackError("a signal is on its way to it")
    yield
    _ask(DETACH, pid)


def registers(pid: int) -> tuple[bytes, ...]:
    """Return the registers of a held process."""
    found = []
    for which in (GENERAL, EXTENDED):
        room = ctypes.create_string_buffer(MOST_BYTES)
        buffer = _Buffer(ctypes.addressof(room), MOST_BYTES)
        _ask(GET_REGISTERS, pid, which, ctypes.addressof(buffer))
        found.append(room.raw[: buffer.length])
    return tuple(found)


def set_registers(pid: int, saved: tuple[bytes, ...]) -> None:
    """Set the registers of a held process; a call of the kernel in which they were read is made anew when it goes on."""
    for which, content in zip((GENERAL, EXTENDED), saved, strict=True):
        room = ctypes.create_string_buffer(content, len(content))
        buffer = _Buffer(ctypes.addressof(room), len(content))
        _ask(SET_REGISTERS, pid, which, ctypes.addressof(buffer))


def registrations(pid: int) -> tuple[bytes, ...]:
    """Return what a held process has told the kernel to write to, or to read, in its memory: of no use to anybody but who set it.

    These are its area for restartable sequences, the byte that turns its calls of the kernel into signals, and its list of robust locks.
    """
    room = ctypes.create_string_buffer(64)
    found = []
    for request, size in ((GET_SEQUENCES, 24), (GET_DISPATCH, 32)):
        ctypes.memset(room, 0, len(room))
        _libc.ptrace(request, pid, size, ctypes.addressof(room))
        found.append(room.raw)
    head, length = ctypes.c_void_p(), ctypes.c_size_t()
    _libc.syscall(ROBUST_LIST, pid, ctypes.byref(head), ctypes.byref(length))
    return *found, b"%d" % (head.value or 0)


def _ask(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    if _libc.ptrace(request, pid, address, data) == -1:
        raise NotSetBackError(f"it cannot be held: {os.strerror(ctypes.get_errno())}")
