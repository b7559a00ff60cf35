"""What marked processes and threads of this machine use, seen from outside: processor time, and memory that is theirs alone."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PERIOD = 0.05
_DYING = 2.0
"""Seconds in which what was killed is gone, however busy the machine is."""
_TO_END = 0.5
"""Seconds of a processor that what was killed needs at most to end: the kernel gives its memory back. What got away may have done with its
work, and be gone, before `_DYING` is over, but has used more than this."""
_TICK = os.sysconf("SC_CLK_TCK")
_USED = slice(11, 13)
_BEGAN = 19
"""Of `/proc/PID/stat`, after the name: ticks in user and in system mode, and the start (proc_pid_stat(5))."""


class Task(NamedTuple):
    """One thread, for as long as the machine runs."""

    pid: int
    tid: int
    began: int


class Watch:
    """Looks for threads with given names for as long as it is open. A context manager."""

    def __init__(self, marks: list[str]) -> None:
        self._marks = frozenset(marks)
        self._seconds: dict[str, dict[Task, float]] = {mark: {} for mark in marks}
        self._memory = dict.fromkeys(marks, 0)
        self._before: dict[str, float] = {}
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look_on, daemon=True)

    def __enter__(self) -> Watch:
        if self._marks:
            self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._is_over.set()
        if self._marks:
            self._thread.join()
        for _, task in _found(self._marks):
            with suppress(OSError):
                os.kill(task.pid, signal.SIGKILL)

    def participant_ended(self) -> None:
        """Count what is used from now on apart, by what got away: by what is not gone in a moment, or uses more than to end takes."""
        self._look()
        before = self._sums()
        self.wait(_DYING)
        away = {mark for mark, _ in _found(self._marks)}
        away |= {mark for mark, used in self._sums().items() if used - before[mark] > _TO_END}
        self._before = {mark: before[mark] if mark in away else used for mark, used in self._sums().items()}

    def wait(self, seconds: float) -> None:
        """Wait until nothing of these names is left, at most for some seconds."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and any(True for _ in _found(self._marks)):
            time.sleep(_PERIOD)

    def seconds(self, mark: str) -> float:
        """Return the processor time that was used under a name."""
        return sum(self._seconds[mark].values())

    def late_seconds(self, mark: str) -> float:
        """Return what of it was used after the participant had ended."""
        return self.seconds(mark) - self._before.get(mark, 0.0)

    def megabytes(self, mark: str) -> float:
        """Return the most memory that one process of a name had for itself."""
        return self._memory[mark] / 1024

    def _sums(self) -> dict[str, float]:
        return {mark: sum(used.values()) for mark, used in self._seconds.items()}

    def _look_on(self) -> None:
        while not self._is_over.wait(_PERIOD):
            self._look()

    def _look(self) -> None:
        for mark, task in _found(self._marks):
            with suppress(OSError, ValueError, IndexError):
                stat = Path(f"/proc/{task.pid}/task/{task.tid}/stat").read_text().rpartition(")")[2].split()
                self._seconds[mark][task] = sum(map(int, stat[_USED])) / _TICK
                self._memory[mark] = max(self._memory[mark], _own_kilobytes(task.pid))


def _found(marks: frozenset[str]) -> Iterator[tuple[str, Task]]:
    """Yield the threads that have one of some names."""
    for pid in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - many times
        with suppress(OSError):
            for tid in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - of every process, many times
                stat = Path(f"/proc/{pid}/task/{tid}/stat").read_text(errors="replace")
                name = stat[stat.index("(") + 1 : stat.rindex(")")]
                if name in marks:
                    yield name, Task(int(pid), int(tid), int(stat.rpartition(")")[2].split()[_BEGAN]))


def _own_kilobytes(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1])
    return 0
