"""How many processes a program may have, and how much memory (of a candidate: `template.lockdown`): by a control group where one can be
made, else process by process.

Source: cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), getrlimit(2), pid_namespaces(7).
"""

from __future__ import annotations

import os
import platform
import re
import resource
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tracebench_sandbox.kernel import namespaces
from tracebench_sandbox.kernel.syscalls import LARGEST

_MB = 1 << 20
_GROUPS = Path("/sys/fs/cgroup")
_NAME = "trace-bench-"
_COUNTED_BY_NAMESPACE, _NUMBERED_BY_NAMESPACE = (5, 14), (6, 14)
"""Kernels since which RLIMIT_NPROC counts a user namespace's own processes, and `kernel.pid_max` is a PID namespace's own."""
_FEWEST = 301
"""The lowest `kernel.pid_max`."""


class Limits(NamedTuple):
    """Of one program and all that it starts; None for no limit."""

    processes: int | None = None
    """Processes and threads at a time."""
    memory_mb: int | None = None
    """Megabytes: of all together in a control group; without one, what each process has to itself."""


class Group:
    """A control group of one program."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def join(self) -> bool:
        """Put the calling process, and those it will start, into the group, and what they see of groups; say whether that could be done."""
        try:
            (self._folder / "cgroup.procs").write_text("0", encoding="ascii")
        except OSError:  # moved out of our reach meanwhile
            return False
        with suppress(OSError):
            namespaces.unshare(
                namespaces.GROUPS
            )  # so that it cannot move itself out where groups are delegated by namespace
        return True

    def close(self) -> None:
        """Remove the group, once nobody is in it."""
        with suppress(OSError):
            self._folder.rmdir()


def open_group(limits: Limits, *, root: Path = _GROUPS, own: str | None = None) -> Group | None:
    """Make a group with these limits in the nearest group above this process's own that hands its controllers on; None where none does.

    `own` is this process's group, as `/proc/self/cgroup` names it.
    """
    if limits == Limits():
        return None
    own = _own_group() if own is None else own
    wanted = {"pids.max": limits.processes, "memory.max": limits.memory_mb and min(limits.memory_mb * _MB, LARGEST)}
    for place in (root / own.lstrip("/"), *(root / own.lstrip("/")).parents):
        if root not in (place, *place.parents):
            break
        folder = place / f"{_NAME}{os.getpid()}"
        try:
            if not {"pids", "memory"} <= set((place / "cgroup.subtree_control").read_text().split()):
                continue
            _sweep(place)
            folder.mkdir()
            for name, most in wanted.items():
                (folder / name).write_text("max" if most is None else str(most), encoding="ascii")
            if limits.memory_mb is not None:
                with suppress(OSError):  # a kernel without swap
                    (folder / "memory.swap.max").write_text("0", encoding="ascii")
        except OSError:
            with suppress(OSError):
                folder.rmdir()
            continue
        return Group(folder)
    return None


def limit_namespace(limits: Limits) -> None:
    """Limit the processes of the calling process's own PID namespace, for root, whom RLIMIT_NPROC spares; needs the capabilities of it."""
    if limits.processes is not None and os.getuid() == 0 and _kernel() >= _NUMBERED_BY_NAMESPACE:
        with suppress(OSError):
            Path("/proc/sys/kernel/pid_max").write_text(str(max(limits.processes, _FEWEST)), encoding="ascii")


def limit_process(limits: Limits, *, in_group: bool) -> None:
    """Limit the calling process, and each that it will start."""
    if limits.processes is not None and _kernel() >= _COUNTED_BY_NAMESPACE:
        _lower(resource.RLIMIT_NPROC, limits.processes)
    if limits.memory_mb is not None and not in_group:
        _lower(resource.RLIMIT_DATA, limits.memory_mb * _MB)


def _lower(what: int, most: int) -> None:
    hard = resource.getrlimit(what)[1]
    least = min(most, LARGEST if hard == resource.RLIM_INFINITY else hard)
    resource.setrlimit(what, (least, least))


def _own_group() -> str:
    with suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                return line.removeprefix("0::")
    return "/"


def _sweep(place: Path) -> None:
    """Remove the groups of programs that were killed with the process that would have removed them; one that is in use stays."""
    for left in place.glob(f"{_NAME}*"):
        if not Path("/proc", left.name.removeprefix(_NAME)).exists():  # one that was just made is empty, too
            with suppress(OSError):
                (left / "cgroup.kill").write_text("1", encoding="ascii")
            with suppress(OSError):
                left.rmdir()


def _kernel() -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", platform.release())[:2]))
