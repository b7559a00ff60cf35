"""The processes of a run as the kernel shows them: who they are, and whether any is left."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

SIGNS = {
    "template_main": "template",
    "tracebench_gateway.server": "gateway",
    "tracebench_sandbox.template.server": "sandbox",
    "environments_main": "environments",
}


def tree(pid: int) -> dict[int, str]:
    """Return the processes of a run, by pid: `runner`, `template`, `job`, `gateway`, `sandbox`, `candidate`."""
    found = {pid: "runner"}
    for child in children(pid):
        kind = next((name for sign, name in SIGNS.items() if sign in command(child)), "other")
        found[child] = kind
        below = {"template": "job", "sandbox": "candidate"}.get(kind, "other")
        found |= dict.fromkeys(children(child), below)
    return found


def everyone(pid: int) -> dict[int, str]:
    """Return all processes below a run's, at any depth, and itself; what is below a job or a candidate is named as that."""
    found = tree(pid)
    waiting = [(child, kind) for child, kind in found.items() if kind in {"job", "candidate", "other"}]
    while waiting:
        above, kind = waiting.pop()
        below = {child: kind for child in children(above) if child not in found}
        found |= below
        waiting += below.items()
    return found


def scorers(token: str) -> dict[int, str]:
    """Return the processes that score jobs, by pid: `scoring template`, which is nobody's child, and `scoring`, one a job.

    The templates of a run that bear a token are told apart by who is above them: the one that trains has its runner there.
    """
    templates = {pid for pid, told in _bearing(token) if "template_main" in told}
    apart = {pid for pid in templates if token not in _environ(parent(pid))}
    below = {child for pid in apart for child in children(pid) if child in templates}
    return dict.fromkeys(apart, "scoring template") | dict.fromkeys(below, "scoring")


def parent(pid: int) -> int:
    """Return who is above a process; 0 when it is gone."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def children(pid: int) -> list[int]:
    """Return the children of a process; none when it is gone."""
    found: list[int] = []
    with suppress(OSError):  # it may go at any moment, even while its threads are listed
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def command(pid: int) -> str:
    """Return the command line of a process; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def bearers(token: str) -> list[str]:
    """Return the living processes, but this one, whose environment or command line holds a token."""
    return [f"{pid}: {told[:120]}" for pid, told in _bearing(token)]


def _bearing(token: str) -> Iterator[tuple[int, str]]:
    for proc in Path("/proc").glob("[0-9]*"):
        pid = int(proc.name)
        try:
            if pid == os.getpid() or (proc / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                continue
        except OSError:
            continue
        if token in _environ(pid) + (told := command(pid)):
            yield pid, told


def _environ(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/environ").read_text(errors="replace")
    except OSError:
        return ""


def wait_until_gone(token: str, *, seconds: float) -> list[str]:
    """Return who still bears a token after so many seconds; nobody, as a rule."""
    deadline = time.monotonic() + seconds
    while (left := bearers(token)) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


def kill(pid: int, sig: int = signal.SIGKILL) -> bool:
    """Signal a process; return whether it was still there."""
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        return False
    return True
