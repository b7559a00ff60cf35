"""A look at running children, taken in a short-lived process: whatever a candidate does to its folder, the template's loop goes on."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tracebench_sandbox.folders import BreachError, Weighing
from tracebench_sandbox.frames import SPENT
from tracebench_sandbox.template.lockdown import Request, die_with

THREADS = 512
"""Threads that one candidate may have; on hosts where the user's processes are limited, the others live of the rest."""
PROCESSES = 512
"""Processes that one command may have; no limit of the kernel counts those of root."""
_ANSWER = 1 << 20
_MB = 1 << 20
_FILES = 4
"""A private folder may hold this many times the largest file."""


class Suspect(NamedTuple):
    """What is looked at of one child."""

    pid: int
    folder: Path
    request: Request
    family: bool
    shared: frozenset[tuple[int, int]] = frozenset()
    """Device and number of the memory that its caller sees, too: of a size that is sealed, and no file that it wrote."""


class Inspection:
    """One look, under way; its descriptor becomes readable when it is over, however it ends."""

    def __init__(self, suspects: Iterable[Suspect]) -> None:
        me = os.getpid()
        self.fd, theirs = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                die_with(me)
                os.dup2(theirs, 3)
                os.closerange(4, 1 << 20)
                os.write(
                    3, json.dumps({suspect.pid: why for suspect in suspects if (why := inspect(suspect))}).encode()
                )
            finally:
                os._exit(0)
        os.close(theirs)

    def result(self) -> dict[int, str]:
        """Return, by process, why it must be ended; empty when the look failed. Waits for the end of it."""
        try:
            data = os.read(self.fd, _ANSWER)
        finally:
            os.close(self.fd)
            os.waitpid(self.pid, 0)
        with suppress(ValueError):
            return {int(pid): why for pid, why in json.loads(data).items()}
        return {}


def inspect(suspect: Suspect) -> str:
    """Return why a child must be ended; empty when there is nothing to say against it."""
    try:
        request = suspect.request
        limit = _FILES * max(request.file_mb, 1) * _MB
        weighing = Weighing(suspect.folder, limit=limit)
        family = _family(suspect.pid) if suspect.family else [suspect.pid]
        if len(family) > PROCESSES:
            raise BreachError(f"started more than {PROCESSES} processes")
        if request.clock_seconds > request.seconds < sum(map(_used, _family(suspect.pid))):
            raise BreachError(SPENT)
        for pid in family:
            weighing.add(_nameless(pid, suspect))
        if not suspect.family and _threads(suspect.pid) > THREADS:
            raise BreachError(f"started more than {THREADS} threads")
    except BreachError as breach:
        return str(breach)
    except OSError:  # it has just ended
        return ""
    return ""


def _nameless(pid: int, suspect: Suspect) -> int:
    """Return the bytes of files that a process holds open or mapped after their last name was taken away."""
    seen: dict[tuple[int, int], int] = {}
    with suppress(OSError):
        for held in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                found = held.stat()
                known = (found.st_dev, found.st_ino)
                if stat.S_ISREG(found.st_mode) and found.st_nlink == 0 and known not in suspect.shared:
                    seen[known] = found.st_blocks * 512
        for line in Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines():
            fields = line.split(maxsplit=5)
            if len(fields) > 5 and fields[5].startswith(f"{suspect.folder}/") and fields[5].endswith(" (deleted)"):  # noqa: PLR2004
                major, minor = (int(part, 16) for part in fields[3].split(":"))
                seen.setdefault((os.makedev(major, minor), int(fields[4])), suspect.request.file_mb * _MB)
    return sum(seen.values())


def _family(pid: int) -> list[int]:
    """Return a process and those below it; no more than a thousand."""
    found, place = [pid], 0
    while place < len(found) < 1000:  # noqa: PLR2004
        with suppress(OSError):
            at = found[place]
            found += map(int, Path(f"/proc/{at}/task/{at}/children").read_text().split())
        place += 1
    return found


def waited(pid: int) -> float:
    """Return the seconds that the threads of a process, and of those below it, have waited for a processor; 0 where none can be told.

    Source: Documentation/scheduler/sched-stats.rst.
    """
    seconds = 0.0
    for one in _family(pid):
        with suppress(OSError):
            for thread in Path(f"/proc/{one}/task").iterdir():
                with suppress(OSError, ValueError, IndexError):
                    seconds += int((thread / "schedstat").read_text().split()[1]) / 1e9
    return seconds


def _used(pid: int) -> float:
    """Return the processor seconds of a process, and of those below it that it has waited for; 0 when it has gone."""
    with suppress(OSError):
        return sum(map(int, _stat(pid)[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def _threads(pid: int) -> int:
    return int(_stat(pid)[17])


def _stat(pid: int) -> list[str]:
    """Return what the system says of a process, from its state on (proc_pid_stat(5), whose first field is 3 here)."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
