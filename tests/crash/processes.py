"""The processes of a run as the kernel shows them: who they are, and whether any is left."""

from __future__ import annotations

import os
import signal
import time
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


def children(pid: int) -> list[int]:
    """Return the children of a process; none when it is gone."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:
            continue
    return found


def command(pid: int) -> str:
    """Return the command line of a process; nothing when it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""


def bearers(token: str) -> list[str]:
    """Return the living processes, but this one, whose environment or command line holds a token."""
    found = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            if int(proc.name) == os.getpid() or (proc / "stat").read_text().rsplit(")", 1)[1].split()[0] == "Z":
                continue
            if token in (proc / "environ").read_text(errors="replace") + (proc / "cmdline").read_text(errors="replace"):
                found.append(f"{proc.name}: {command(int(proc.name))[:120]}")
        except OSError:
            continue
    return found


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
