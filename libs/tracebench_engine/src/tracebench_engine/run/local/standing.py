"""What the kernel holds of a process beside its memory: its folder, files, signals, threads, limits, rights and the like.

Read from outside, by proc(5); two readings of a process that has done nothing in between are equal.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from os import listdir, readlink, stat
from typing import Any

from tracebench_engine.job.kernel import read

LINKS = ("cwd", "root")
FILES = ("limits", "timers", "comm", "personality", "oom_score_adj", "cgroup")
VOLATILE = re.compile(
    rb"^(?:State|FDSize|Vm(?!Lck|Pin)\w+|Rss\w+|HugetlbPages|CoreDumping|SigQ|\w*ctxt_switches):.*\n", re.M
)
"""Lines of `status` that say what it did, rather than what it may do."""
PRIORITIES = slice(15, 17)
"""Of the words of `stat` after the name: priority and nice."""
SCHEDULING = slice(37, 39)
"""Real-time priority and policy."""


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


def _file(home: str, fd: str) -> tuple[str, int, bytes]:
    """Return to what a descriptor leads, that file's number, and its flags without its position."""
    info = read(f"{home}/fdinfo/{fd}")
    path = f"{home}/fd/{fd}"
    return readlink(path), stat(path).st_ino, info[info.find(b"flags:") : info.find(b"\n", info.find(b"flags:"))]
