"""A session's process beside its caller: on the same core while its calls are short.

The two take turns, so that a second core gains them nothing; and to wake a process on another one takes ten calls' time where that core has
gone to rest, on a virtual machine above all. While a call takes longer, its process and all threads of it may use every core again.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from contextlib import suppress

SHORT, LONG = 0.0005, 0.002
"""Seconds of processors: calls of less are reason to stay near, one of more is reason to part. What a call waits for tells nothing."""
ENOUGH = 8
"""Short calls in a row before the process is moved, so that a few calls cost nothing."""
_CHANNEL = 3
_core: Callable[[], int] = ctypes.PyDLL(None).sched_getcpu


class Near:
    """Moves one process, once its caller knows it by what it holds: the other end of a socket."""

    def __init__(self, pid: Callable[[], int], *, channel: int, may: bool = True) -> None:
        """`pid` tells the process, 0 while it is unknown; `channel` is the number of the socket (`st_ino`) that it has as descriptor 3.

        Without `may`, nothing is ever moved.
        """
        self._pid = pid
        self._channel = channel
        self._short = 0
        self._at = -1
        self._cores: set[int] = set()
        self._may = may

    def begin(self) -> None:
        """Have the process on this thread's core for the call that begins, if calls have been short."""
        if self._may and self._short >= ENOUGH and _core() != self._at:
            self._move(_core())

    def end(self, seconds: float | None) -> None:
        """Learn what the call took of processors; None where nobody knows."""
        if seconds is None or seconds > LONG:
            self._short = 0
            self.part()
        elif seconds < SHORT:
            self._short += 1

    def part(self) -> None:
        """Let the process and its threads, which take their cores from whoever starts them, use all that they might before."""
        if self._at >= 0:
            self._at = -1
            with suppress(OSError):
                pid = self._known()
                for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - a call is under way
                    with suppress(OSError):  # it has just ended
                        os.sched_setaffinity(int(thread), self._cores)

    def _move(self, core: int) -> None:
        try:
            pid = self._known()
            if self._at < 0:
                self._cores = os.sched_getaffinity(pid)
            os.sched_setaffinity(pid, {core})
            self._at = core
        except OSError:  # it has gone, is out of sight, or may not be where its caller is
            self._may = False

    def _known(self) -> int:
        """Return the process; raises OSError when whoever has its number is another."""
        pid = self._pid()
        if pid <= 0 or os.stat(f"/proc/{pid}/fd/{_CHANNEL}").st_ino != self._channel:  # noqa: PTH116 - as above
            raise ProcessLookupError
        return pid
