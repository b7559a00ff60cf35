"""Candidates' processes that are forked and locked down before there is anything for them to run.

While one candidate runs, the process for the next is made: who calls again and again waits for neither fork nor lockdown. Such a process
has its folder, its ruleset and its filter, and waits on a socket that only the template holds; the limits of its request are set from
outside before it is told what to run.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from tracebench_sandbox import descriptors
from tracebench_sandbox.template.boxes import Box, Boxes
from tracebench_sandbox.template.children import Children
from tracebench_sandbox.template.lockdown import Lockdown, Request

MOST = 4
"""Processes that wait at a time."""


class Waiting(NamedTuple):
    """One process that waits."""

    pid: int
    box: Box
    link: socket.socket


class Prefork:
    """Keeps a process ready for each caller that is busy."""

    def __init__(self, children: Children, boxes: Boxes, lockdown: Lockdown) -> None:
        self._children = children
        self._boxes = boxes
        self._lockdown = lockdown
        self._waiting: list[Waiting] = []

    @property
    def pids(self) -> set[int]:
        """The processes that wait."""
        return {one.pid for one in self._waiting}

    def take(self, request: Request, fds: list[int], note: Callable[[int], None]) -> tuple[int, Box] | None:
        """Limit a process that waits as the request says, have its number noted and give it the request's descriptors; None when none
        can be had.
        """
        while self._waiting:
            one = self._waiting.pop(0)
            try:
                self._lockdown.limit(request, family=False, pid=one.pid)
                note(one.pid)
                descriptors.send(one.link, b"!", fds)
            except (OSError, ValueError):  # it was killed meanwhile, for want of memory perhaps
                self._end(one)
                continue
            one.link.close()
            return one.pid, one.box
        return None

    def fill(self, wanted: int) -> None:
        """Make processes until `wanted` are waiting; where the host has none to give, the next request makes its own."""
        most = (
            MOST if self._lockdown.strong else 0
        )  # in namespaces of its own, a process cannot be limited by its number here
        with suppress(OSError):
            while len(self._waiting) < min(wanted, most):
                box = self._boxes.take(family=False)
                try:
                    pid, link = self._children.fork_waiting(box)
                except OSError:
                    self._boxes.give_back(box)
                    raise
                self._waiting.append(Waiting(pid, box, link))

    def close(self) -> None:
        """End all that wait."""
        while self._waiting:
            self._end(self._waiting.pop())

    def _end(self, one: Waiting) -> None:
        os.kill(one.pid, signal.SIGKILL)
        os.waitpid(one.pid, 0)
        one.link.close()
        self._boxes.give_back(one.box)
