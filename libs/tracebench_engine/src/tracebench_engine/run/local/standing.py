"""What the kernel holds of a process beside its memory: its folder, files, signals, threads, limits, rights and the like.

Read from outside, by proc(5); two readings of a process that has done nothing in between are equal.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from os import listdir, major, minor, readlink, stat
from stat import S_IFMT, S_ISCHR, S_ISDIR, S_ISFIFO, S_ISREG, S_ISSOCK
from typing import Any, NamedTuple

from tracebench_engine.job.kernel import read

LINKS = ("cwd", "root")
FILES = ("limits", "timers", "comm", "personality", "oom_score_adj", "coredump_filter", "cgroup")
NEEDED = frozenset({"limits", "timers", "personality"})
"""Without these a timer, for instance, would go off in a later order."""
VOLATILE = re.compile(
    rb"^(?:State|FDSize|Vm(?!Lck|Pin)\w+|Rss\w+|HugetlbPages|CoreDumping|SigQ|\w*ctxt_switches):.*\n", re.M
)
"""Lines of `status` that say what it did, rather than what it may do."""
WAITED = slice(8, 11, 2)
"""Of the words of `stat` after the name: faults of children that ended, whose use of the machine is added up for good."""
PRIORITIES = slice(15, 17)
"""Priority and nice."""
SCHEDULING = slice(37, 39)
"""Real-time priority and policy."""
HARMLESS_DEVICES = frozenset({(1, 3), (1, 5), (1, 7), (1, 8), (1, 9), (5, 0)})
"""Numbers of `null`, `zero`, `full`, `random`, `urandom` and `tty`."""
HARMLESS = ("[eventpoll]", "[eventfd]", "[timerfd]", "[signalfd]", "[pidfd]", "inotify")


class File(NamedTuple):
    """To what a descriptor leads."""

    leads_to: str
    number: int
    mode: int
    device: tuple[int, int]
    told: bytes
    """Flags, locks and what else the kernel tells of it, without its position, which moves for all that share it."""

    @property
    def is_passive(self) -> bool:
        """Whether it does nothing by itself: of rings (io_uring), graphics processors and the like, work may go on in memory."""
        if not S_IFMT(self.mode) or self.leads_to.startswith("anon_inode:"):
            return self.leads_to.removeprefix("anon_inode:") in HARMLESS
        if S_ISCHR(self.mode):
            return self.device in HARMLESS_DEVICES
        return any(is_one(self.mode) for is_one in (S_ISREG, S_ISDIR, S_ISFIFO, S_ISSOCK))


def standing(pid: int) -> dict[str, Any]:
    """Return the standing of a process by what each part of it is called; the process is held."""
    home = f"/proc/{pid}"
    words = read(f"{home}/stat").rpartition(b")")[2].split()
    found: dict[str, Any] = {
        "threads": len(listdir(f"{home}/task")),
        "processes": read(f"{home}/task/{pid}/children"),
        "files": {fd: _file(home, fd) for fd in listdir(f"{home}/fd")},
        "namespaces": {name: readlink(f"{home}/ns/{name}") for name in listdir(f"{home}/ns")},
        "priority": (words[PRIORITIES], words[SCHEDULING]),
        "children that ended": words[WAITED],
        "status": VOLATILE.sub(b"", read(f"{home}/status")),
    }
    for name in LINKS:
        found[name] = readlink(f"{home}/{name}")
    for name in FILES:
        with suppress(FileNotFoundError):  # by how the kernel was built
            found[name] = read(f"{home}/{name}")
    return found


def difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return what differs between two standings, in words; empty where nothing does."""
    if before == now:
        return ""
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    if names == ["status"]:
        pairs = zip(_status(before), _status(now), strict=False)
        names = sorted({one.partition(":")[0] for pair in pairs if pair[0] != pair[1] for one in pair})
    return ", ".join(names)


def _status(found: Mapping[str, Any]) -> list[str]:
    text = found["status"]
    return text.decode(errors="replace").splitlines() if isinstance(text, bytes) else []


def active(files: Iterable[File]) -> str:
    """Return to what the first of some files leads that is not passive; empty where all are."""
    return next((file.leads_to for file in files if not file.is_passive), "")


def _file(home: str, fd: str) -> File:
    path = f"{home}/fd/{fd}"
    found = stat(path)
    told = read(f"{home}/fdinfo/{fd}").partition(b"\n")[2]
    return File(readlink(path), found.st_ino, found.st_mode, (major(found.st_rdev), minor(found.st_rdev)), told)
