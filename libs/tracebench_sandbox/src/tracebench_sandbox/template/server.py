"""The evaluation template: one small process with one thread that forks a locked-down child per request and sees it to its end.

A request is a connection: one message with the limits and two descriptors, the channel to the child and its output; of a session also the
page of its clock, and the memory that it shares. Its end is told on the same connection, on which no child can write that runs
anything untrusted. A connection that closes takes its child with it. The server ends with its parent.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tracebench_sandbox import descriptors
from tracebench_sandbox.folders import remove
from tracebench_sandbox.frames import UNSTARTED
from tracebench_sandbox.kernel import namespaces
from tracebench_sandbox.kernel.candidate_root import CandidateRoot
from tracebench_sandbox.kernel.syscalls import prctl
from tracebench_sandbox.reach import Reach
from tracebench_sandbox.template import strangers, streams
from tracebench_sandbox.template.boxes import Box, Boxes
from tracebench_sandbox.template.children import Children
from tracebench_sandbox.template.inspection import Inspection, Suspect, waited
from tracebench_sandbox.template.lockdown import DEVICES, Lockdown, Request
from tracebench_sandbox.template.prefork import Prefork

_SET_CHILD_SUBREAPER = 36
_MESSAGE = 4096
_DESCRIPTORS = 4
_GRACE = 1.0
_WATCH = 0.25


@dataclass(slots=True)
class Child:
    """One running request."""

    pid: int
    pidfd: int
    link: socket.socket
    box: Box
    deadline: float
    request: Request
    family: bool
    clock: int = -1
    """Of a session: a page that holds the deadline of the call under way, written by the caller, to whom alone it is mapped."""
    shared: frozenset[tuple[int, int]] = frozenset()
    """Of a session: the memory that its caller sees, too, as `Suspect` has it."""
    reason: str = ""
    late: bool = False
    waited: float = 0.0
    """Seconds that it and those below it had waited for a processor when it was ended."""
    is_left: bool = False
    """Its caller has what was asked for, and waits for no report."""

    def is_late(self, now: float) -> bool:
        """Tell whether its caller should have ended it a while ago."""
        if self.clock < 0:
            return now > self.deadline
        try:
            first, again = (struct.unpack("=d", os.pread(self.clock, 8, 0))[0] for _ in range(2))
        except (OSError, struct.error):
            return True
        return bool(first == again and now > first + _GRACE)


class Server:
    """Takes requests, watches their children and buries them."""

    def __init__(
        self, listener: socket.socket, children: Children, *, boxes: Boxes, ahead: Prefork, sweeping: bool
    ) -> None:
        self._listener = listener
        self._forks = children
        self._boxes = boxes
        self._ahead = ahead
        self._busy = time.monotonic()
        self._sweeping = sweeping
        self._poll = select.poll()
        self._children: dict[int, Child] = {}
        self._waiting: dict[int, socket.socket] = {}
        self._inspection: Inspection | None = None

    def serve(self, ends: list[int]) -> None:
        """Serve until one of the descriptors `ends` becomes readable or closes."""
        for fd in (*ends, self._listener.fileno()):
            self._poll.register(fd, select.POLLIN)
        looked = time.monotonic()
        while True:
            ready = self._poll.poll(self._patience())
            for fd, what in ready:
                if fd in ends:
                    self._end_all()
                    return
                try:
                    self._handle(fd, hung_up=bool(what & select.POLLHUP))
                except Exception:  # noqa: BLE001 - whatever one request does, the others go on
                    self._drop(fd)
            if self._children and time.monotonic() - looked > _WATCH:
                looked = time.monotonic()
                with suppress(Exception):  # a look that fails is taken again
                    self._watch(looked)
            with suppress(OSError):
                self._rest()
                self._boxes.reap()

    def _patience(self) -> float | None:
        """Return for how many milliseconds there is nothing to do but wait."""
        return _WATCH * 1000 if self._children or self._ahead.pids or self._boxes.busy or self._inspection else None

    def _rest(self) -> None:
        """Keep no process for callers that have asked for nothing for a while."""
        if not self._children and time.monotonic() - self._busy > _WATCH:
            self._ahead.close()
            self._boxes.forget()

    def _handle(self, fd: int, *, hung_up: bool) -> None:
        if self._inspection is not None and fd == self._inspection.fd:
            self._judge(self._inspection)
        elif fd == self._listener.fileno():
            try:
                link, _ = self._listener.accept()
            except OSError:  # the one who knocked has gone, or there is no descriptor to be had
                return
            link.settimeout(0)
            self._waiting[link.fileno()] = link
            self._poll.register(link.fileno(), select.POLLIN)
            self._begin(link)
        elif fd in self._waiting:
            self._begin(self._waiting[fd])
        elif (child := self._children.get(fd)) is not None:
            if fd == child.pidfd:
                self._bury(child)
            else:
                self._poll.unregister(fd)
                child.is_left = hung_up
                if not hung_up:
                    child.waited = waited(child.pid)
                self._kill(child)

    def _begin(self, link: socket.socket) -> None:
        try:
            data, fds = descriptors.receive(link, _MESSAGE, _DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        del self._waiting[link.fileno()]
        try:
            order = json.loads(data)
            channel, output, *rest = fds
            clock, shared = rest[:1], rest[1:]
            for fd in clock:
                os.set_inheritable(fd, False)  # noqa: FBT003 - it stays open here, and no command may inherit it
            seconds, clock_seconds = float(order["seconds"]), float(order["clock_seconds"])
            request = Request(seconds, clock_seconds, int(order["memory_mb"]), int(order["file_mb"]), order.get("core"))
            family = order["kind"] == "command"
        except (ValueError, KeyError, TypeError, RecursionError):
            self._poll.unregister(link.fileno())
            link.close()
        else:
            try:
                given = [channel, output, *shared]
                self._start(link, request, given, family=family, clock=clock[0] if clock else -1)
                fds = given
            except Exception:  # noqa: BLE001 - no process or folder to be had: this request fails, the others go on
                self._forget(link.fileno())
                self._report(link, UNSTARTED)
        for fd in fds:
            os.close(fd)

    def _start(self, link: socket.socket, request: Request, fds: list[int], *, family: bool, clock: int) -> None:
        def note(pid: int) -> None:
            if clock >= 0 and not self._forks.nested:
                os.pwrite(clock, struct.pack("=q", pid), 8)

        ready = None if family else self._ahead.take(request, fds, note)
        pid, box = ready or self._fork(request, fds, link.fileno(), family=family)
        try:
            pidfd = os.pidfd_open(pid)
        except OSError:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            self._boxes.give_back(box)
            raise
        if ready is None:
            note(pid)
        deadline = time.monotonic() + request.clock_seconds + _GRACE
        shared = frozenset((found.st_dev, found.st_ino) for found in map(os.fstat, fds[2:]))
        child = Child(pid, pidfd, link, box, deadline, request, family, clock, shared)
        self._children[child.pidfd] = self._children[link.fileno()] = child
        self._poll.register(child.pidfd, select.POLLIN)
        if not family:
            self._ahead.fill(sum(not one.family for one in self._living()))

    def _fork(self, request: Request, fds: list[int], link: int, *, family: bool) -> tuple[int, Box]:
        box = self._boxes.take(family=family)
        try:
            fork = self._forks.fork_command if family else self._forks.fork_candidate
            return fork(box, request, fds, link), box
        except OSError:
            self._boxes.give_back(box)
            raise

    def _watch(self, now: float) -> None:
        """End who is late, and have the others looked at; while one look is under way there is no second.

        Strangers that have ended are reaped: a command's namespace may be waiting for one of them before it can end itself.
        """
        strangers.reap(self._strangers())
        for child in self._living():
            if child.is_late(now):
                child.late = True
                child.waited = waited(child.pid)
                self._kill(child)
        if self._inspection is None:
            self._inspection = Inspection(
                [Suspect(c.pid, c.box.path, c.request, c.family, c.shared) for c in self._living()]
            )
            self._poll.register(self._inspection.fd, select.POLLIN)

    def _judge(self, inspection: Inspection) -> None:
        self._inspection = None
        self._poll.unregister(inspection.fd)
        guilty = inspection.result()
        for child in self._living():
            if child.pid in guilty:
                child.reason = guilty[child.pid]
                self._kill(child)

    def _living(self) -> list[Child]:
        return [child for fd, child in self._children.items() if fd == child.pidfd]

    def _kill(self, child: Child) -> None:
        with suppress(ProcessLookupError):  # it may not lead its own group yet
            os.killpg(child.pid, signal.SIGKILL)
        os.kill(child.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own

    def _bury(self, child: Child) -> None:
        self._kill(child)
        self._busy = time.monotonic()
        _, status, used = os.wait4(child.pid, 0)
        if child.family or self._sweeping:
            self._sweep()
        self._forget(child.pidfd)
        os.close(child.pidfd)
        self._forget(child.link.fileno())
        if child.clock >= 0:
            os.close(child.clock)
        with suppress(OSError):  # no process to be had for it; the folder goes with the template
            self._boxes.give_back(child.box)
        if child.is_left:
            child.link.close()
            return
        report = {
            "code": os.waitstatus_to_exitcode(status),
            "cpu": used.ru_utime + used.ru_stime,
            "late": child.late,
            "waited": child.waited,
            "reason": child.reason,
        }
        self._report(child.link, report)

    def _report(self, link: socket.socket, report: dict[str, Any]) -> None:
        with suppress(OSError):  # the one who asked may be gone
            link.send(json.dumps(report).encode())
        link.close()

    def _drop(self, fd: int) -> None:
        """Give up what a descriptor belongs to after an error that nobody foresaw."""
        with suppress(Exception):
            if (child := self._children.get(fd)) is not None:
                self._kill(child)
                if fd == child.pidfd:
                    self._forget(fd)
                    self._forget(child.link.fileno())
                    child.link.close()
            elif (link := self._waiting.pop(fd, None)) is not None:
                self._forget(fd)
                link.close()

    def _end_all(self) -> None:
        for child in self._living():
            self._kill(child)
        self._sweep()  # first, since a command may not end before what it left was reaped
        for child in self._living():
            if select.select([child.pidfd], [], [], strangers.PATIENCE)[0]:
                self._bury(child)
        self._ahead.close()
        self._sweep()

    def _forget(self, fd: int) -> None:
        self._children.pop(fd, None)
        with suppress(KeyError):  # a link that has hung up already
            self._poll.unregister(fd)

    def _strangers(self) -> set[int]:
        known = {child.pid for child in self._children.values()} | self._boxes.removers | self._ahead.pids
        if self._inspection is not None:
            known.add(self._inspection.pid)
        return strangers.strangers(known)

    def _sweep(self) -> None:
        """End the strangers: processes whose parents died and that therefore became ours."""
        strangers.sweep(self._strangers)


def main(order: dict[str, Any]) -> None:
    """Prepare, say on standard output that all is ready (or why not), and serve. `order` is what `launch` wrote."""
    parent = os.pidfd_open(order["parent"])
    if os.getppid() != order["parent"]:
        return
    prctl(_SET_CHILD_SUBREAPER, 1)
    ends, told = [parent, streams.set_aside_stdin()], streams.set_aside_stdout()
    try:
        for name in order["preload"]:
            import_module(name)
    except BaseException as err:  # noqa: BLE001 - a module may do anything when imported; the starter is told
        streams.tell(told, {"error": f"cannot preload `{name}`: {type(err).__name__}: {err}"})
        return
    _settle()
    reach = Reach(order["preload"], withheld=order["withheld"], readable=map(Path, order["readable"]))
    lockdown = Lockdown(reach)
    listener = socket.socket(fileno=order["listener"])
    listener.settimeout(0)
    threads = len(list(Path("/proc/self/task").iterdir()))
    apart = namespaces.available()
    root = _open_root(order, lockdown) if apart and threads == 1 and not lockdown.strong else None
    children = Children(lockdown, apart=apart, root=root, alone=threads == 1)
    boxes = Boxes(Path(order["boxes"]), lockdown=lockdown)
    ahead = Prefork(children, boxes, lockdown)
    server = Server(listener, children, boxes=boxes, ahead=ahead, sweeping=not lockdown.seccomp)
    level = "strong" if lockdown.strong else "namespaces" if root is not None else "process"
    streams.tell(told, {"error": "", "level": level, "threads": threads})
    reach.forget()
    folder = Path(order["boxes"])
    order.clear()
    del sys.argv[1:]
    children.warm_up()
    gc.collect()
    gc.freeze()
    server.serve(ends)
    if root is not None:
        root.close()
    _clear(folder)
    os._exit(0)


def _open_root(order: dict[str, Any], lockdown: Lockdown) -> CandidateRoot:
    place = Path(tempfile.mkdtemp(prefix="roots-", dir=Path(order["boxes"]).parent))
    devices = [Path(device) for device in DEVICES]
    return CandidateRoot(
        place,
        alone=[*lockdown.paths, *lockdown.links, *devices],
        family=[*lockdown.family_paths, *lockdown.links, *devices],
        locked=lockdown.seccomp,
    )


def _clear(boxes: Path) -> None:
    """Remove what was made for this template; its owner may have been killed, and nobody else knows of it."""
    with suppress(OSError):
        remove(boxes)
    (boxes.parent / "sandbox.sock").unlink(missing_ok=True)
    with suppress(OSError):  # somebody else's things are in it
        boxes.parent.rmdir()


def _settle() -> None:
    """Give numpy's global generator one state, with which every child starts."""
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(0)
