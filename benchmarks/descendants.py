"""Runs a command and tells what all of its descendants used, those included that are nobody's children.

    python benchmarks/descendants.py COMMAND...

prints a list in JSON: the command's exit code; when it began, in seconds of the epoch; seconds by the clock until its last descendant
had ended; seconds of processors of them all; and the most MB that one of them held. What they print is thrown away.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SET_CHILD_SUBREAPER = 36
"""prctl(2)."""


class Used(NamedTuple):
    """What a command and all of its descendants used."""

    code: int
    began: float
    wall: float
    cpu: float
    megabytes: float


def watch(*argv: str, folder: str | None = None, environ: Mapping[str, str] | None = None) -> Used:
    """Run a command under a process of its own, which sees all of its descendants end."""
    told = subprocess.run(
        [sys.executable, str(Path(__file__)), *argv],
        check=True,
        cwd=folder,
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    return Used(*json.loads(told.stdout))


def main() -> None:
    """Run the command and print."""
    ctypes.CDLL(None).prctl(SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    began, started = time.time(), time.perf_counter()
    code = subprocess.run(sys.argv[1:], check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    with suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    wall, used = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps([code, began, wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]))


if __name__ == "__main__":
    main()
