"""From a fresh fork of the template to a locked-down candidate, or to the supervisor of a command."""

from __future__ import annotations

import ctypes
import linecache
import os
import random
import socket
import sys

from tracebench_sandbox import descriptors
from tracebench_sandbox.codec import Decoder, Encoder
from tracebench_sandbox.frames import read_frame, tell_unstarted
from tracebench_sandbox.kernel.candidate_root import CandidateRoot
from tracebench_sandbox.template import commands
from tracebench_sandbox.template.boxes import Box
from tracebench_sandbox.template.candidate import Runner
from tracebench_sandbox.template.lockdown import Lockdown, Request, die_with

_CHANNEL, _SHARED = 3, 4
_LAST = 1 << 20
_ROUNDS = 20
_WARM_UP = {"code": "def f(x):\n    return x\n", "entry": "f", "prelude": "", "inputs": [[1.5]], "cap": _LAST}


class Children:
    """Forks the template's children. Use it from the main thread only: they die with the thread that forked them.

    Descriptor 0 of the template is `/dev/null`, and so is a candidate's.
    """

    def __init__(
        self, lockdown: Lockdown, *, apart: bool, root: CandidateRoot | None = None, alone: bool = False
    ) -> None:
        """`apart`: commands can have namespaces of their own. `root`: all have them, for want of Landlock or seccomp. `alone`: this
        process has one thread, so that a fork leaves no lock taken and nothing has to be settled after it.
        """
        self._lockdown = lockdown
        self._root = root
        self._apart = apart
        self._alone = alone
        self._fork = _bare_fork if alone else os.fork
        self._runner = Runner()
        self._me = os.getpid()

    @property
    def nested(self) -> bool:
        """Say whether a candidate runs in a process below the one that is forked."""
        return self._root is not None

    def warm_up(self) -> None:
        """Run a candidate of our own here: what Python and the loader settle on first use, no child has to settle in pages of its own."""
        order = Encoder(_LAST).pack(_WARM_UP)
        shown = sys.stdout, sys.stderr
        for _ in range(_ROUNDS):
            ours, theirs = socket.socketpair()
            with ours, theirs:
                ours.sendall(order)
                Runner().serve(theirs.fileno())
        sys.stdout, sys.stderr = shown
        linecache.clearcache()
        random.seed(0)

    def fork_candidate(self, box: Box, request: Request, fds: list[int], link: int) -> int:
        """Fork a candidate's process, whose answers go over the first descriptor and whose output goes to the second.

        What keeps it from being locked down says nothing of the candidate: it is told on the request's `link`.
        """
        pid = self._fork()
        if pid == 0:
            try:
                self._become_candidate(box, request, link, *fds)
            finally:
                os._exit(70)
        return pid

    def _become_candidate(self, box: Box, request: Request, link: int, channel: int, output: int, *shared: int) -> None:
        """Lock this fresh child down and run the candidate. Little is done here: each page that it writes to must be copied."""
        try:
            die_with(self._me)
            os.setsid()
            if self._root is not None:
                self._root.enter(box.path)
            self._lockdown.limit(request, family=False)
            self._lockdown.enter(box.confinement)
        except Exception:
            tell_unstarted(link)
            raise
        self._run_candidate(channel, output, *shared)

    def _run_candidate(self, channel: int, output: int, *shared: int) -> None:
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.dup2(channel, _CHANNEL)
        for fd in shared:
            os.dup2(fd, _SHARED)
        os.closerange(_CHANNEL + 1 + len(shared), _LAST)
        if not self._alone:
            random.seed(0)  # Python reseeds it at every fork of its own; numpy's state is the template's
        self._runner.serve(_CHANNEL)
        os._exit(0)

    def fork_waiting(self, box: Box) -> tuple[int, socket.socket]:
        """Fork a candidate's process that is locked down and waits at the other end of the socket for a request's descriptors."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                pid = self._fork()
            except OSError:
                ours.close()
                raise
            if pid == 0:
                try:
                    self._become_waiting(box, theirs)
                finally:
                    os._exit(70)
        return pid, ours

    def _become_waiting(self, box: Box, link: socket.socket) -> None:
        die_with(self._me)
        os.setsid()
        self._lockdown.enter(box.confinement)
        mine = link.fileno()
        os.closerange(_CHANNEL, mine)  # what belongs to other requests
        os.closerange(mine + 1, _LAST)
        told, fds = descriptors.receive(link, 1, 3)
        if told:
            self._run_candidate(*fds)
        os._exit(0)

    def fork_command(self, box: Box, request: Request, fds: list[int], link: int) -> int:
        """Fork the supervisor of a command; what keeps that from being held is told on the request's `link`."""
        pid = os.fork()
        if pid == 0:
            try:
                self._become_command(box, request, link, *fds)
            finally:
                os._exit(70)
        return pid

    def _become_command(self, box: Box, request: Request, link: int, channel: int, output: int) -> None:
        """Turn this fresh child into the supervisor of a command, whose standard error is the channel."""
        die_with(self._me)
        os.setsid()
        os.chdir(box.path)
        order = read_frame(channel, decoder=Decoder(plain=True))
        os.dup2(output, 1)
        os.dup2(channel, 2)
        os.close(output)
        os.close(channel)
        commands.run(
            order,
            box=box.path,
            lockdown=self._lockdown,
            request=request,
            apart=self._apart,
            root=self._root,
            link=link,
        )


_libc_fork = ctypes.PyDLL(None, use_errno=True).fork


def _bare_fork() -> int:
    """Fork as the C library does, without what Python and its modules settle around a fork, which writes to a hundred more pages.

    That is for locks of other threads, of which there are none, and for the generator of `random`, which the template has seeded.
    """
    pid = int(_libc_fork())
    if pid < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return pid
