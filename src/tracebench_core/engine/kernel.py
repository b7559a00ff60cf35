"""What Linux offers to keep a process tree together: parent-death signals, subreapers, lists of children.

Sources: prctl(2) `PR_SET_PDEATHSIG`, `PR_SET_CHILD_SUBREAPER`; proc(5) `/proc/pid/task/tid/children`.
"""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36

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
            found.update(map(int, _read(f"/proc/self/task/{task}/children").split()))
    return found


def _read(path: str) -> bytes:
    """Return a file of the kernel's: without the buffers and decoders of `open`."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        parts = []
        while part := os.read(fd, 1 << 16):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(fd)


def kill_children(*, keep: frozenset[int] | set[int] = frozenset()) -> None:
    """Kill and reap every child that is not to be kept, and whoever they leave behind, until none is left."""
    while strays := children() - keep:
        for pid in strays:
            kill(pid)
        for pid in strays:
            reap(pid)


def kill(pid: int, sig: int = signal.SIGKILL) -> None:
    """Signal a process; nothing happens when it is gone."""
    try:
        os.kill(pid, sig)
    except ProcessLookupError:
        return


def kill_group(pid: int, sig: int = signal.SIGKILL) -> None:
    """Signal a process group; nothing happens when it is gone."""
    try:
        os.killpg(pid, sig)
    except ProcessLookupError:
        return


def reap(pid: int) -> int | None:
    """Wait for a child; return its exit code (negative: the signal that ended it), or None when it is no child of ours."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return None
