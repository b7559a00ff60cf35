"""A process that runs orders one after the other, and is set back between them to what it was before the first.

Its template forks it, keeps an image of it while it waits for its first order, and sets it back after each: memory and registers as
they were, to the byte, and what the kernel holds of it compared. So nothing of an order is there for the next, whatever the order's code
has done: the process differs from one that is forked anew by its number and its age. Where that cannot be had, it is ended, as it is
after each order that did not end well.
"""

from __future__ import annotations

import ctypes
import os
import random
import resource
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import NoReturn

from tracebench_core.specs import JobOrder
from tracebench_engine.job import kernel
from tracebench_engine.run.local.forking import ASKED, flush
from tracebench_engine.run.local.hold import NotSetBackError, held, registers, set_registers
from tracebench_engine.run.local.memory import Base, Image, Mapping
from tracebench_engine.run.local.standing import difference, standing

ENOUGH = "enough orders"
MOST_ORDERS = 1000
"""After which a process is forked anew: what no check knows adds up no further."""
STACK = 1 << 20
"""Bytes of stack that a process has from the start, so that it grows in hardly any order."""
PATIENCE = 5.0
"""Seconds that a process may take to its first wait."""
USERFAULTFD = {"x86_64": 323, "aarch64": 282}
USER_MODE_ONLY = 1
SO_PEEK_OFF = 42
HEADER = struct.Struct("=III")
"""How many ranges of memory and how many descriptors to give up, and how long the order is."""
RANGE = struct.Struct("=QQ")
CODE = DESCRIPTOR = struct.Struct("=i")

OPTIONS = (
    *(
        socket.SO_RCVTIMEO,
        socket.SO_SNDTIMEO,
        socket.SO_RCVLOWAT,
        socket.SO_RCVBUF,
        socket.SO_SNDBUF,
        socket.SO_PASSCRED,
    ),
    *(socket.SO_LINGER, socket.SO_OOBINLINE, SO_PEEK_OFF),
)
_libc = ctypes.CDLL(None, use_errno=True)


class Worker:
    """The template's end of one."""

    def __init__(self, pid: int, end: socket.socket, its_end: socket.socket, base: Base) -> None:
        """Take an image of a process that was just forked; `its_end` is the socket that it has, to look at.

        Raises:
            NotSetBackError: when it cannot be set back on this machine; it is still there.
        """
        self.pid = pid
        self.socket = end
        self._its_end = its_end
        self._orders = 0
        end.settimeout(PATIENCE)
        try:
            _, (watcher, *_), _, _ = socket.recv_fds(end, 1, 1)
        except (OSError, ValueError):
            raise NotSetBackError("it cannot be watched") from None
        self._watcher = watcher
        end.settimeout(0)
        try:
            _wait_until_it_waits(pid)
            with held(pid):
                self._registers = registers(pid)
                self._image = Image(pid, watcher, base)
                self._standing = standing(pid)
                self._options = self._socket_options()
        except BaseException:
            os.close(watcher)
            raise

    def fileno(self) -> int:
        """Return the descriptor on which it tells of ends."""
        return self.socket.fileno()

    def take(self, order: bytes) -> bool:
        """Have it run an order; return whether it is there to take it."""
        try:
            return self.socket.send(HEADER.pack(0, 0, len(order)) + order) == HEADER.size + len(order)
        except OSError:
            return False

    def told(self) -> int | None:
        """Return the code with which the order has ended; None where it does not tell."""
        try:
            return int(CODE.unpack(self.socket.recv(CODE.size))[0])
        except (OSError, struct.error):
            return None

    def set_back(self) -> str:
        """Set it back to where it waited for its first order; return why that cannot be, and nothing where it was."""
        self._orders += 1
        if self._orders >= MOST_ORDERS:
            return ENOUGH
        try:
            with held(self.pid):
                now = standing(self.pid)
                opened = now["files"].keys() - self._standing["files"].keys()
                for fd in opened:
                    del now["files"][fd]
                if left := difference(self._standing, now):
                    raise NotSetBackError(f"left behind: {left}")
                if not self._is_silent() or self._socket_options() != self._options:
                    raise NotSetBackError("it has told more than its end, or changed how it is spoken to")
                added = self._image.set_back()
                set_registers(self.pid, self._registers)
            self._give_up(added, opened)
        except (NotSetBackError, OSError) as err:
            return str(err)
        return ""

    def _is_silent(self) -> bool:
        """Whether nothing more is said, which would pass for the end of the next order."""
        try:
            self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        return False

    def _socket_options(self) -> list[bytes]:
        """Return how its end of the socket is set: by whoever has it, and for as long as it is there."""
        return [self._its_end.getsockopt(socket.SOL_SOCKET, option, 16) for option in OPTIONS]

    def _give_up(self, added: list[Mapping], opened: Collection[str]) -> None:
        """Have it, who is as it was, give up what memory was mapped and what files were opened since."""
        if added or opened:
            ranges = [RANGE.pack(m.start | (m.name == "[heap]"), m.end) for m in added]
            files = [DESCRIPTOR.pack(int(fd)) for fd in opened]
            self.socket.send(b"".join([HEADER.pack(len(ranges), len(files), 0), *ranges, *files]))

    def close(self, *, forget: bool = True) -> None:
        """Close what leads to it, and forget it where it was ended."""
        self.socket.close()
        self._its_end.close()
        self._image.close(forget=forget)
        os.close(self._watcher)


def can_live() -> bool:
    """Say whether processes may be set back here: limits that add up over a process's life are for one order."""
    return os.uname().machine in USERFAULTFD and resource.getrlimit(resource.RLIMIT_CPU)[0] == resource.RLIM_INFINITY


def live(end: socket.socket, run_child: Callable[[JobOrder], int], *, parent: int) -> NoReturn:
    """In the process: run orders until there are none."""
    outputs = [os.dup(fd) for fd in range(3)]
    folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    _grow_stack()
    watcher = _libc.syscall(USERFAULTFD[os.uname().machine], os.O_CLOEXEC | os.O_NONBLOCK | USER_MODE_ONLY)
    end.settimeout(None)
    if watcher < 0:
        os._exit(1)
    socket.send_fds(end, [b"w"], [watcher])
    os.close(watcher)
    while head := end.recv(HEADER.size):  # here it waits when its image is taken, and to here it is set back
        ranges, files, length = HEADER.unpack(head)
        for _ in range(ranges):
            _unmap(*RANGE.unpack(end.recv(RANGE.size, socket.MSG_WAITALL)))
        for _ in range(files):
            os.close(*DESCRIPTOR.unpack(end.recv(DESCRIPTOR.size, socket.MSG_WAITALL)))
        if length:
            _start_again(parent)
            code = _run(run_child, end.recv(length, socket.MSG_WAITALL))
            for fd, output in enumerate(outputs):
                os.dup2(output, fd)
            os.fchdir(folder)
            for asked in ASKED:
                signal.signal(asked, signal.SIG_DFL)
            end.send(CODE.pack(code))
    os._exit(0)


def _run(run_child: Callable[[JobOrder], int], order: bytes) -> int:
    code = 1
    try:
        code = run_child(JobOrder.model_validate_json(order))
    except BaseException:  # noqa: BLE001 - the process must not go on from here, whatever happens
        sys.excepthook(*sys.exc_info())
    flush()
    return code


def _start_again(parent: int) -> None:
    """Set what no other process can see, as it is in any process that was just forked here."""
    kernel.die_with_parent(parent)
    random.seed()
    for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
        signal.setitimer(timer, 0)


def _unmap(start: int, end: int) -> None:
    is_heap, start = start & 1, start & ~1
    if (
        _libc.brk(ctypes.c_void_p(start))
        if is_heap
        else _libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(end - start))
    ):
        os._exit(1)


def _grow_stack() -> None:
    lines = Path("/proc/self/maps").read_text().splitlines()
    start = next(int(line.partition("-")[0], 16) for line in lines if line.endswith("[stack]"))
    ctypes.memset(start - STACK, 0, 1)


def _wait_until_it_waits(pid: int) -> None:
    until = time.monotonic() + PATIENCE
    while kernel.read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] != b"S":
        if time.monotonic() > until:
            raise NotSetBackError("it does not come to its first wait")
        time.sleep(0.0005)
