"""Processes whose parents died and that therefore became ours: ended, and reaped in whatever order they end."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection
from pathlib import Path

PATIENCE = 10.0
"""Seconds that killed processes may take to end."""
_PAUSE, _LONGEST_PAUSE = 0.0005, 0.05


def strangers(known: Collection[int]) -> set[int]:
    """Return the children of this process's main thread that are not known, zombies included."""
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}.difference(known)


def reap(pids: Collection[int]) -> int:
    """Reap those of some children that have ended; return how many had. The end of a namespace may be waiting for one of them."""
    return sum(os.waitpid(pid, os.WNOHANG)[0] == pid for pid in pids)


def sweep(find: Callable[[], Collection[int]]) -> None:
    """End all strangers that `find` tells, until it tells none; whoever does not end in time is named on the error output and left."""
    until, pause = time.monotonic() + PATIENCE, _PAUSE
    while found := find():
        for pid in found:
            os.kill(pid, signal.SIGKILL)
        if not reap(found):  # none is waited for by itself: one may end only when another was reaped
            if time.monotonic() >= until:
                os.write(2, f"these processes do not end: {sorted(found)}\n".encode())
                return
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
