"""Namespaces for candidates where Landlock or seccomp is missing: a root that holds what untrusted code may see, and nothing else.

The template enters a user namespace once and mounts two roots, both read-only: one for a single candidate, one for commands. A child moves
into a copy of one of them with its private folder at `/box`. Source: user_namespaces(7), mount_namespaces(7), pid_namespaces(7).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from tracebench_sandbox.kernel import namespaces
from tracebench_sandbox.kernel.syscalls import libc, prctl

BOX = Path("/box")
"""Where a child finds its private folder."""
_SET_PDEATHSIG = 1
_DETACH = 2


class CandidateRoot:
    """The two roots of one template."""

    def __init__(self, place: Path, *, alone: Iterable[Path], family: Iterable[Path], locked: bool) -> None:
        """Enter the namespaces and build the roots at `place`, an empty folder. `locked`: seccomp keeps a child from all other processes.

        Raises:
            OSError: when this host does not allow it. The calling process, which must have one thread, is then of no further use.
        """
        self._place = place
        self._locked = locked
        namespaces.leave_host(namespaces.NET | namespaces.IPC | namespaces.UTS)
        namespaces.mount("tmpfs", place, kind="tmpfs", options="size=4m,mode=755")
        self._alone = _root(place / "alone", alone)
        self._family = _root(place / "family", family)
        namespaces.set_read_only(place)
        with suppress(OSError):  # as a second lock: who is in a changed root may make no user namespace anyway
            Path("/proc/sys/user/max_user_namespaces").write_text("0", encoding="ascii")

    def enter(self, box: Path) -> None:
        """Move the calling process into the candidate's root; without seccomp into namespaces of its own as their first process."""
        if not self._locked:
            namespaces.unshare(namespaces.MOUNTS | namespaces.PIDS | namespaces.IPC)
            _become_first()
        else:
            namespaces.unshare(namespaces.MOUNTS)
        self._move(self._alone, box)

    def enter_family(self, box: Path, devices: Iterable[str] = ()) -> None:
        """Move the calling process and those it will start into the commands' root, with `devices`, and into namespaces of their own."""
        namespaces.unshare(namespaces.MOUNTS | namespaces.PIDS | namespaces.IPC)
        namespaces.supervise()
        with suppress(OSError):  # a container whose own /proc is masked may mount none
            namespaces.mount("proc", self._family / "proc", kind="proc")
        if nodes := [Path(device) for device in devices]:
            namespaces.set_writable(self._place)  # in here alone; what stays for others is an empty file of that name
            for node in nodes:
                _lay(self._family, node)
            namespaces.set_read_only(self._place)
        self._move(self._family, box)

    def close(self) -> None:
        """Take the roots down; what still runs in them keeps them."""
        libc.umount2(bytes(self._place), _DETACH)
        with suppress(OSError):
            self._place.rmdir()

    def _move(self, root: Path, box: Path) -> None:
        namespaces.mount(box, root / BOX.name, flags=namespaces.BIND)
        os.chroot(root)
        os.chdir(BOX)
        os.environ["HOME"] = os.environ["TMPDIR"] = str(BOX)


def _become_first() -> None:
    """Return in the first process of the namespace; this one ends as that one ends, by the same signal."""
    first = os.fork()
    if first == 0:
        prctl(_SET_PDEATHSIG, signal.SIGKILL)
        return
    namespaces.end_like(namespaces.wait_for(first))


def _root(root: Path, paths: Iterable[Path]) -> Path:
    """Make a folder in which `paths`, links resolved, lie where they lie outside; with the links that lead to them."""
    root.mkdir()
    for name in ("box", "proc"):
        (root / name).mkdir()
    given = sorted(set(paths), key=lambda path: len(path.parts))
    for path in given:
        if path.resolve() == path and path.exists():
            _show(root, path)
    with suppress(FileExistsError):  # what is given may itself lie below /tmp
        (root / "tmp").symlink_to(BOX)
    for path in [*given, *(entry for entry in Path("/").iterdir() if entry.is_symlink())]:
        if (real := path.resolve()) != path:
            _link(root, path, real)
    return root


def _show(root: Path, path: Path) -> None:
    if not (root / path.relative_to("/")).exists():  # shown by a folder above it
        _lay(root, path)


def _lay(root: Path, path: Path) -> None:
    target = root / path.relative_to("/")
    if path.is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    namespaces.mount(path, target, flags=namespaces.BIND | namespaces.RECURSIVE)


def _link(root: Path, path: Path, real: Path) -> None:
    """Make a link at a path in a root; none where a link made before leads there already, which from here leads out of the root."""
    target = root / path.relative_to("/")
    if not path.exists() or any(above.is_symlink() for above in target.parents[: len(path.parts) - 2]):
        return
    with suppress(OSError):  # a link below a folder that is shown is there already
        target.parent.mkdir(parents=True, exist_ok=True)
        target.symlink_to(real)
