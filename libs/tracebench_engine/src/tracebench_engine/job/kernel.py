"""What Linux offers to keep a process tree together: parent-death signals, subreapers, lists of children.

Sources: prctl(2) `PR_SET_PDEATHSIG`, `PR_SET_CHILD_SUBREAPER`; proc(5) `/proc/pid/task/tid/children`.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import time
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PATIENCE = 10.0
"""Seconds that killed processes may take to end: one that sleeps in the kernel, on a dead network disk for instance, may never."""
_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.0005, 0.05

_libc = ctypes.CDLL(None, use_errno=True)


def die_with_parent(parent: int) -> None:
    """Ask to be killed when the parent thread ends; end at once if that has happened already."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent ends."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> set[int]:
    """Return the processes whose parent is this one, zombies included."""
    found: set[int] = set()
    for task in os.listdir("/proc/self/task"):  # noqa: PTH208 - twice a job
        with suppress(OSError):
            found.update(map(int, read(f"/proc/self/task/{task}/children").split()))
    return found


def read(path: str) -> bytes:
    """Return a file of the kernel's: without the buffers and decoders of `open`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def kill_children(*, keep: frozenset[int] | set[int] = frozenset()) -> set[int]:
    """Kill every child that is not to be kept, and whoever they leave behind, and reap each as it ends; return who did not end in time.

    None of them is waited for by itself: the first process of a pid namespace ends only when all of that namespace were reaped, and one
    of those may have become our child.
    """
    until = time.monotonic() + PATIENCE
    pause = _SHORTEST_PAUSE
    while strays := children() - keep:
        for pid in strays:
            kill(pid)
        if not sum(_has_ended(pid) for pid in strays):
            if time.monotonic() >= until:
                return strays
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
    return set()


def descendants(pid: int) -> set[int]:
    """Return the processes below another one, zombies and itself left out."""
    found: set[int] = set()
    todo = [pid]
    while todo:
        above = todo.pop()
        with suppress(OSError):
            for task in os.listdir(f"/proc/{above}/task"):  # noqa: PTH208 - as above
                below = set(map(int, read(f"/proc/{above}/task/{task}/children").split())) - found
                found |= below
                todo += below
    return found


def kill_tree(pid: int) -> None:
    """Kill a process and all below it: it is held first, so that it makes no more and what it loses stays below it."""
    kill(pid, signal.SIGSTOP)
    until = time.monotonic() + PATIENCE
    while any(map(_is_alive, descendants(pid))) and time.monotonic() < until:
        for below in descendants(pid):
            kill(below)
        time.sleep(_LONGEST_PAUSE)
    kill(pid)


def _is_alive(pid: int) -> bool:
    with suppress(OSError):
        return read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[0] not in {b"Z", b"X"}
    return False


def _has_ended(pid: int) -> bool:
    try:
        return os.waitpid(pid, os.WNOHANG)[0] == pid
    except ChildProcessError:  # somebody else reaped it
        return True


def kill(pid: int, sig: int = signal.SIGKILL) -> None:
    """Signal a process; nothing happens when it is gone."""
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        return


def kill_group(pid: int, sig: int = signal.SIGKILL) -> bool:
    """Signal a process group, and return whether there is one."""
    try:
        os.killpg(pid, sig)
    except ProcessLookupError:
        return False
    return True


def cpu_seconds() -> float:
    """Return the seconds of processors that this process and those of its descendants that were waited for took."""
    return sum(sum(resource.getrusage(whose)[:2]) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def reap(pid: int) -> int | None:
    """Wait for a child; return its exit code (negative: the signal that ended it), or None when it is no child of ours."""
    try:
        while os.WIFSTOPPED(status := os.waitpid(pid, 0)[1]):
            pass  # it was held when it was killed
        return os.waitstatus_to_exitcode(status)
    except ChildProcessError:
        return None
