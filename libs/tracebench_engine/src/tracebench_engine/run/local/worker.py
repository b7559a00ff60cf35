"""A process that runs orders one after the other, and is set back between them to what it was before the first.

Its template forks it, keeps an image of it while it waits for its first order, and sets it back after each: memory and registers as
they were, to the byte, and what the kernel holds of it compared. So nothing of an order is there for the next, whatever the order's code
has done: the process differs from one that is forked anew by its number and its age. Then it gives up what came since, sets back what it
alone can (see `inside`), and says so: no order is sent to who has not. Where that cannot be had, it is ended, as it is after each order
that did not end well.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
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
from tracebench_engine.run.local.hold import NotSetBackError, held, registers, registrations, set_registers
from tracebench_engine.run.local.inside import Inside
from tracebench_engine.run.local.memory import Base, Image, Mapping
from tracebench_engine.run.local.standing import NEEDED, active, difference, standing

SWITCH = "TRACEBENCH_SET_BACK"
"""The variable that turns all this off where it is 0."""
ENOUGH = "enough orders"
MOST_ORDERS = 1000
"""After which a process is forked anew: what no check knows adds up no further."""
MOST_SECONDS = 10.0
"""Of processors, after which it is forked anew as well: what it has used counts on from one order to the next."""
MOST_GIVEN_UP = 1000
"""Mappings, or files, that an order may leave; a socket takes 100 KB without anybody reading."""
STACK = 1 << 20
"""Bytes of stack that a process has from the start, so that it grows in hardly any order."""
PATIENCE = 5.0
"""Seconds that a process may take to its first wait."""
MACHINE, USERFAULTFD = "x86_64", 323
"""Registers and numbers of calls are of this machine; on others each order has a fork of its own."""
USER_MODE_ONLY = 1
SO_PEEK_OFF = 42
HEAP = "[heap]"
SETTLED = b"settled"
WATCHED, UNWATCHED = b"w", b"u"
"""A process's first word: with it comes what watches its memory, or nothing where the kernel gives none."""
LONGEST_WORDS = 200
HEADER = struct.Struct("=III")
"""How many ranges of memory and how many descriptors to give up, and how long the order is."""
RANGE = struct.Struct("=QQ")
CODE = DESCRIPTOR = struct.Struct("=i")
CPU_TIME = 2
"""Of a process's clock (`MAKE_PROCESS_CPUCLOCK` of the system's headers)."""
LOWEST_PEAK = b"5"
"""Written to `clear_refs`: the most memory that it ever had is what it has."""

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
        self.orders = 0
        """Those that it has run and was set back from."""
        self._is_settled = True
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
                self._registrations = registrations(pid)
                self._image = Image(pid, watcher, base)
                self._standing = standing(pid)
                if lacking := NEEDED - self._standing.keys():
                    raise NotSetBackError(f"the kernel does not tell of its {', '.join(sorted(lacking))}")
                self._options = self._socket_options()
        except BaseException:
            os.close(watcher)
            raise

    def fileno(self) -> int:
        """Return the descriptor on which it tells of ends."""
        return self.socket.fileno()

    def unsettled(self) -> str:
        """Return why it has not given up what came since it was made; empty once it says that it has, for which it is waited for."""
        if not self._is_settled:
            poll = select.poll()
            poll.register(self.socket, select.POLLIN)
            if not poll.poll(1000 * PATIENCE):
                return "it does not give up what came since"
            try:
                words = self.socket.recv(LONGEST_WORDS)
            except OSError:
                words = b""
            if words != SETTLED:
                return (
                    f"left behind: {words.decode(errors='replace')}"
                    if words
                    else "it ended when it gave up what came since"
                )
            self._is_settled = True
        return ""

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
        self.orders += 1
        try:
            if self.orders >= MOST_ORDERS or time.clock_gettime(~self.pid << 3 | CPU_TIME) >= MOST_SECONDS:
                return ENOUGH
            with held(self.pid):
                now = standing(self.pid)
                opened = now["files"].keys() - self._standing["files"].keys()
                if at_work := active(now["files"].pop(fd) for fd in opened):
                    raise NotSetBackError(f"left behind: {at_work}")
                if left := difference(self._standing, now):
                    raise NotSetBackError(f"left behind: {left}")
                if registrations(self.pid) != self._registrations:
                    raise NotSetBackError("it has told the kernel of other places in its memory")
                if not self._is_silent() or self._socket_options() != self._options:
                    raise NotSetBackError("it has told more than its end, or changed how it is spoken to")
                added = self._image.set_back()
                if max(len(added), len(opened)) > MOST_GIVEN_UP:
                    raise NotSetBackError("it has left more than is given up")
                Path(f"/proc/{self.pid}/clear_refs").write_bytes(LOWEST_PEAK)
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
        ranges = [RANGE.pack(m.start, m.end) for m in added if m.name != HEAP]
        files = [DESCRIPTOR.pack(int(fd)) for fd in opened]
        message = b"".join([HEADER.pack(len(ranges), len(files), 0), *ranges, *files])
        self._is_settled = False
        if self.socket.send(message) != len(message):
            raise NotSetBackError("it does not read what it is told")

    def close(self, *, forget: bool = True) -> None:
        """Close what leads to it, and forget it where it was ended."""
        self.socket.close()
        self._its_end.close()
        self._image.close(forget=forget)
        os.close(self._watcher)


def why_not() -> str:
    """Say why no process is set back here; empty where it may be tried."""
    if os.environ.get(SWITCH) == "0":
        return f"{SWITCH}=0"
    if os.uname().machine != MACHINE:
        return f"that is written for {MACHINE}"
    if resource.getrlimit(resource.RLIMIT_CPU)[0] != resource.RLIM_INFINITY:
        return "processor time is limited, which adds up over a process's life"
    return ""


def live(end: socket.socket, run_child: Callable[[JobOrder], int], *, parent: int) -> NoReturn:
    """In the process: run orders until there are none."""
    outputs = [os.dup(fd) for fd in range(3)]
    folder = os.open(".", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    _grow_stack()
    watcher = _libc.syscall(USERFAULTFD, os.O_CLOEXEC | os.O_NONBLOCK | USER_MODE_ONLY)
    end.settimeout(None)
    if watcher < 0:
        end.send(UNWATCHED)  # an end alone says nothing: the template has this end of the socket, too
        os._exit(1)
    inside = Inside()
    socket.send_fds(end, [WATCHED], [watcher])
    os.close(watcher)
    while head := end.recv(HEADER.size):  # here it waits when its image is taken, and to here it is set back
        ranges, files, length = HEADER.unpack(head)
        for _ in range(ranges):
            _unmap(*RANGE.unpack(end.recv(RANGE.size, socket.MSG_WAITALL)))
        for _ in range(files):
            os.close(*DESCRIPTOR.unpack(end.recv(DESCRIPTOR.size, socket.MSG_WAITALL)))
        if not length:
            kernel.die_with_parent(parent)
            end.send(inside.set_back().encode() or SETTLED)
            continue
        _begin_as_forked()
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


def _begin_as_forked() -> None:
    """Have all that wants to know of a fork believe that there was one: generators of random numbers are seeded anew, for instance."""
    ctypes.pythonapi.PyOS_BeforeFork()
    ctypes.pythonapi.PyOS_AfterFork_Child()


def _unmap(start: int, end: int) -> None:
    if _libc.munmap(ctypes.c_void_p(start), ctypes.c_size_t(end - start)):
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
