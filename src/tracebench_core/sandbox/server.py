"""The evaluation template: one small process with one thread that forks a locked-down child per request and sees it to its end.

A request is a connection: one message with the limits and two descriptors (the channel to the child and its output). Its end is told on
the same connection, on which no child can write. A connection that closes takes its child with it. The server ends with its parent.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tracebench_core.sandbox import namespaces
from tracebench_core.sandbox.boxes import Box, Boxes
from tracebench_core.sandbox.children import Children
from tracebench_core.sandbox.lockdown import Lockdown, Request
from tracebench_core.sandbox.reach import Reach
from tracebench_core.sandbox.syscalls import prctl

_SET_CHILD_SUBREAPER = 36
_MESSAGE = 4096
_GRACE = 1.0
_WATCH = 0.25
_FILES = 4
"""A private folder may hold this many times the largest file."""


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
    reason: str = ""


class Server:
    """Takes requests, watches their children and buries them."""

    def __init__(self, listener: socket.socket, children: Children, *, boxes: Boxes, sweeping: bool) -> None:
        self._listener = listener
        self._forks = children
        self._boxes = boxes
        self._sweeping = sweeping
        self._poll = select.poll()
        self._children: dict[int, Child] = {}
        self._waiting: dict[int, socket.socket] = {}
        self._me = os.getpid()

    def serve(self, ends: list[int]) -> None:
        """Serve until one of the descriptors `ends` becomes readable or closes."""
        for fd in (*ends, self._listener.fileno()):
            self._poll.register(fd, select.POLLIN)
        looked = time.monotonic()
        while True:
            ready = self._poll.poll(self._patience())
            for fd, _ in ready:
                if fd in ends:
                    self._end_all()
                    return
                self._handle(fd)
            if self._children and time.monotonic() - looked > _WATCH:
                looked = time.monotonic()
                self._watch(looked)
            self._boxes.reap()

    def _patience(self) -> float | None:
        """Return for how many milliseconds there is nothing to do but wait."""
        return _WATCH * 1000 if self._children or self._boxes.removers else None

    def _handle(self, fd: int) -> None:
        if fd == self._listener.fileno():
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
                self._kill(child)

    def _begin(self, link: socket.socket) -> None:
        try:
            data, fds, _, _ = socket.recv_fds(link, _MESSAGE, 2)
        except BlockingIOError:
            return
        except OSError:
            data, fds = b"", []
        del self._waiting[link.fileno()]
        try:
            order = json.loads(data)
            _, _ = fds
            request = Request(float(order["seconds"]), int(order["memory_mb"]), int(order["file_mb"]))
            family, endless = order["kind"] == "command", bool(order["endless"])
        except (ValueError, KeyError, TypeError):
            self._poll.unregister(link.fileno())
            link.close()
        else:
            try:
                self._start(link, request, fds, family=family, endless=endless)
            except OSError:  # no process or folder to be had: this request fails, the others go on
                self._forget(link.fileno())
                link.close()
        for fd in fds:
            os.close(fd)

    def _start(self, link: socket.socket, request: Request, fds: list[int], *, family: bool, endless: bool) -> None:
        box = self._boxes.take(family=family)
        try:
            pid = (self._forks.fork_command if family else self._forks.fork_candidate)(box, request, fds)
        except OSError:
            self._boxes.give_back(box)
            raise
        now = time.monotonic()
        deadline = float("inf") if endless else now + request.seconds + _GRACE
        child = Child(pid, os.pidfd_open(pid), link, box, deadline, request, family)
        self._children[child.pidfd] = self._children[link.fileno()] = child
        self._poll.register(child.pidfd, select.POLLIN)

    def _watch(self, now: float) -> None:
        for fd, child in list(self._children.items()):
            if fd != child.pidfd:
                continue
            if now > child.deadline:
                self._kill(child)
            elif _size(child.box.path) > _FILES * max(child.request.file_mb, 1) << 20:
                child.reason = f"wrote more than {_FILES * child.request.file_mb} MB of files"
                self._kill(child)

    def _kill(self, child: Child) -> None:
        with suppress(ProcessLookupError):  # it may not lead its own group yet
            os.killpg(child.pid, signal.SIGKILL)
        os.kill(child.pid, signal.SIGKILL)  # not reaped yet, so the number is still its own

    def _bury(self, child: Child) -> None:
        self._kill(child)
        _, status, used = os.wait4(child.pid, 0)
        if child.family or self._sweeping:
            self._sweep()
        self._forget(child.pidfd)
        os.close(child.pidfd)
        report = {
            "code": os.waitstatus_to_exitcode(status),
            "cpu": used.ru_utime + used.ru_stime,
            "reason": child.reason,
        }
        self._forget(child.link.fileno())
        self._boxes.give_back(child.box)
        with suppress(OSError):  # the one who asked may be gone
            child.link.send(json.dumps(report).encode())
        child.link.close()

    def _end_all(self) -> None:
        for child in list({id(child): child for child in self._children.values()}.values()):
            self._kill(child)
            self._bury(child)
        self._sweep()

    def _forget(self, fd: int) -> None:
        self._children.pop(fd, None)
        with suppress(KeyError):  # a link that has hung up already
            self._poll.unregister(fd)

    def _sweep(self) -> None:
        """End the strangers: processes whose parents died and that therefore became ours."""
        known = {child.pid for child in self._children.values()} | self._boxes.removers
        while (
            strangers := {int(pid) for pid in Path(f"/proc/self/task/{self._me}/children").read_text().split()} - known
        ):
            for pid in strangers:
                os.kill(pid, signal.SIGKILL)
            for pid in strangers:
                os.waitpid(pid, 0)


def _size(folder: Path) -> int:
    """Return how many bytes the files of a private folder take on disk; what vanishes on the way counts nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(Path(place, name)).st_blocks * 512
            except OSError:
                continue
    return total


def main(order: dict[str, Any]) -> None:
    """Prepare, say on standard output that all is ready (or why not), and serve. `order` is what `launch` wrote."""
    parent = os.pidfd_open(order["parent"])
    if os.getppid() != order["parent"]:
        return
    prctl(_SET_CHILD_SUBREAPER, 1)
    ends = [parent, _set_aside_stdin()]
    try:
        for name in order["preload"]:
            import_module(name)
    except BaseException as err:  # noqa: BLE001 - a module may do anything when imported; the starter is told
        _tell({"error": f"cannot preload `{name}`: {type(err).__name__}: {err}"})
        return
    _settle()
    reach = Reach(order["preload"], withheld=order["withheld"], readable=map(Path, order["readable"]))
    lockdown = Lockdown(reach)
    listener = socket.socket(fileno=order["listener"])
    listener.settimeout(0)
    children = Children(lockdown, apart=namespaces.available())
    boxes = Boxes(Path(order["boxes"]), lockdown=lockdown)
    server = Server(listener, children, boxes=boxes, sweeping=not lockdown.seccomp)
    threads = len(list(Path("/proc/self/task").iterdir()))
    _tell({"error": "", "strong": lockdown.strong, "threads": threads})
    reach.forget()
    root = Path(order["boxes"])
    order.clear()
    del sys.argv[1:]
    children.warm_up()
    gc.collect()
    gc.freeze()
    server.serve(ends)
    _clear(root)
    os._exit(0)


def _set_aside_stdin() -> int:
    """Return the descriptor that closes when the owner ends; 0 becomes `/dev/null`, which the children may keep."""
    owner = os.dup(0)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    return owner


def _clear(boxes: Path) -> None:
    """Remove what was made for this template; its owner may have been killed, and nobody else knows of it."""
    os.waitpid(os.posix_spawn("/bin/rm", ["rm", "-rf", "--", str(boxes)], os.environ), 0)
    (boxes.parent / "sandbox.sock").unlink(missing_ok=True)
    with suppress(OSError):  # somebody else's things are in it
        boxes.parent.rmdir()


def _settle() -> None:
    """Give numpy's global generator one state, with which every child starts."""
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(0)


def _tell(words: dict[str, Any]) -> None:
    os.write(1, json.dumps(words).encode() + b"\n")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.close(null)
