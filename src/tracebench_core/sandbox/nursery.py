"""Where children come from: forked ahead of need, locked down, waiting for a request; and their private folders, from first to last."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import sys
import time
from collections import deque
from pathlib import Path
from typing import NamedTuple

from tracebench_core.sandbox import commands
from tracebench_core.sandbox.candidate import Runner
from tracebench_core.sandbox.codec import Decoder
from tracebench_core.sandbox.frames import read_frame
from tracebench_core.sandbox.lockdown import Lockdown, Request, die_with
from tracebench_core.sandbox.syscalls import prctl

_AHEAD = 2
"""How many children are forked and locked down before they are asked for."""
_PAUSE = 0.25
_MESSAGE = 4096
_DOOR = 200
"""The descriptor by which a spare gets its request: beyond what the template has open before its first child."""
_SET_NAME = 15
SPARE, CANDIDATE = b"tb-spare", b"tb-candidate"
"""What `ps` shows."""


class Newborn(NamedTuple):
    """A child that has its request, and its private folder."""

    pid: int
    box: Path


class _Spare(NamedTuple):
    """A locked-down child that waits for its request, and the socket over which it gets it."""

    pid: int
    box: Path
    door: socket.socket


class Nursery:
    """Forks the template's children. Use it from the main thread only: they die with the thread that forked them."""

    def __init__(self, boxes: Path, *, lockdown: Lockdown, apart: bool) -> None:
        self._boxes = boxes
        self._lockdown = lockdown
        self._apart = apart
        self._runner = Runner()
        self._spares: deque[_Spare] = deque()
        self._removers: set[int] = set()
        self._count = 0
        self._me = os.getpid()
        self._null = os.open(os.devnull, os.O_RDONLY)

    @property
    def full(self) -> bool:
        """Whether enough children wait."""
        return len(self._spares) >= _AHEAD

    @property
    def removing(self) -> bool:
        """Whether folders are being removed."""
        return bool(self._removers)

    @property
    def pids(self) -> set[int]:
        """The children that no request owns."""
        return {spare.pid for spare in self._spares} | self._removers

    def dispatch(self, request: Request, fds: list[int]) -> Newborn:
        """Hand a request to the child that was forked ahead."""
        while True:
            spare = self._spares.popleft() if self._spares else self._fork_spare()
            try:
                socket.send_fds(spare.door, [json.dumps(request).encode()], fds)
            except OSError:  # the host has killed it, for want of memory: bury it and fork another
                os.kill(spare.pid, signal.SIGKILL)
                os.waitpid(spare.pid, 0)
                self.remove(spare.box)
            else:
                return Newborn(spare.pid, spare.box)
            finally:
                spare.door.close()

    def refill(self) -> None:
        """Fork one child ahead."""
        try:
            self._spares.append(self._fork_spare())
        except OSError:  # no process or folder is to be had: a request that comes now is refused, a later one is not
            time.sleep(_PAUSE)

    def _new_box(self) -> Path:
        self._count += 1
        box = self._boxes / f"{self._count:x}"
        box.mkdir(mode=0o700)
        return box

    def _fork_spare(self) -> _Spare:
        box = self._new_box()
        door, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = os.fork()
        if pid == 0:
            try:
                self._become_spare(box, theirs)
            finally:
                os._exit(70)
        theirs.close()
        return _Spare(pid, box, door)

    def _become_spare(self, box: Path, door: socket.socket) -> None:
        """Turn this fresh child into a locked-down process that waits for its request. Nothing of the server stays open in it."""
        die_with(self._me)
        os.setsid()
        prctl(_SET_NAME, SPARE)
        for target in (0, 1, 2):
            os.dup2(self._null, target)
        os.dup2(door.fileno(), _DOOR)
        os.chdir(box)
        os.environ["HOME"] = os.environ["TMPDIR"] = str(box)
        random.seed(0)  # Python reseeds it at every fork; numpy's state is the template's
        if (tempfile := sys.modules.get("tempfile")) is not None:
            tempfile.__dict__["tempdir"] = None
        self._lockdown.enter(box, family=False)
        os.closerange(3, _DOOR)
        os.closerange(_DOOR + 1, 1 << 20)
        waiting = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET, 0, _DOOR)
        data, fds, _, _ = socket.recv_fds(waiting, _MESSAGE, 2)
        if not fds:
            os._exit(0)
        channel, output = fds
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.close(output)
        waiting.close()
        prctl(_SET_NAME, CANDIDATE)
        self._lockdown.limit(Request(*json.loads(data)), family=False)
        self._runner.serve(channel)
        os._exit(0)

    def fork_command(self, request: Request, fds: list[int]) -> Newborn:
        """Fork the supervisor of a command."""
        box = self._new_box()
        pid = os.fork()
        if pid == 0:
            try:
                self._become_command(box, request, *fds)
            finally:
                os._exit(70)
        return Newborn(pid, box)

    def _become_command(self, box: Path, request: Request, channel: int, output: int) -> None:
        """Turn this fresh child into the supervisor of a command, whose standard error is the channel."""
        die_with(self._me)
        os.setsid()
        os.chdir(box)
        order = read_frame(channel, decoder=Decoder(plain=True))
        os.dup2(output, 1)
        os.dup2(channel, 2)
        os.close(output)
        os.close(channel)
        commands.run(order, box=box, lockdown=self._lockdown, request=request, apart=self._apart)

    def remove(self, box: Path) -> None:
        """Remove a private folder; a full one is left to a process of its own."""
        try:
            box.rmdir()
        except OSError:
            self._removers.add(os.posix_spawn("/bin/rm", ["rm", "-rf", "--", str(box)], os.environ))

    def reap(self) -> None:
        """Reap the processes that have removed their folders."""
        for pid in list(self._removers):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._removers.discard(pid)
