"""Runs a command and tells what all of its descendants used, those included that are nobody's children.

    python benchmarks/descendants.py [--together] COMMAND...

prints a list in JSON: the command's exit code; when it began, in seconds of the epoch; seconds by the clock until its last descendant
had ended; seconds of processors of them all; the most MB that one of them held; and null, or with `--together` the most MB that all
of them held at one time, looked at twenty times a second: memory that several share counts once (proportional set sizes). To look
takes processors, though not theirs. What they print is thrown away.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SET_CHILD_SUBREAPER = 36
"""prctl(2)."""
TOGETHER = "--together"
PAUSE = 0.05
"""Seconds between two looks."""


class Used(NamedTuple):
    """What a command and all of its descendants used."""

    code: int
    began: float
    wall: float
    cpu: float
    megabytes: float
    """The most that one of them held."""
    together: float | None
    """The most MB that all held at one time, where that was looked at."""


def watch(
    *argv: str, folder: str | None = None, environ: Mapping[str, str] | None = None, together: bool = False
) -> Used:
    """Run a command under a process of its own, which sees all of its descendants end."""
    told = subprocess.run(
        [sys.executable, str(Path(__file__)), *([TOGETHER] if together else []), *argv],
        check=True,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Used(*json.loads(told.stdout))


class Looks(threading.Thread):
    """Looks again and again at what all descendants of this process hold, until it is told that they have ended."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = 0.0
        self.ended = threading.Event()

    def run(self) -> None:
        while not self.ended.wait(PAUSE):
            self.most = max(self.most, sum(_megabytes(pid) for pid in _descendants(os.getpid())))


def _descendants(of: int) -> Iterator[int]:
    children = defaultdict(list)
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            children[int(parent)].append(int(folder.name))
    left = [*children[of]]
    while left:
        pid = left.pop()
        left += children[pid]
        yield pid


def _megabytes(pid: int) -> float:
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1024
    return 0.0


def main() -> None:
    """Run the command and print."""
    is_asked = sys.argv[1:2] == [TOGETHER]
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    looks = Looks()
    if is_asked:
        looks.start()
    began, started = time.time(), time.perf_counter()
    argv = sys.argv[1 + is_asked :]
    code = subprocess.run(argv, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    wall, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    looks.ended.set()
    told = [code, began, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, looks.most if is_asked else None]
    print(json.dumps(told))


if __name__ == "__main__":
    main()
