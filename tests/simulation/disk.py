"""The disk of a simulated machine: each process on it may die at any of its operations, and it may be full, or read-only, from any on."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.crash.disk import Crash, CrashingFileSystem, FileNode

DEATHS = ("before", "after", "torn")
POWER_CUTS = ("data lost", "names lost")
REFUSALS = {"full": errno.ENOSPC, "read-only": errno.EROFS}


class Killed(Crash):
    """A process is gone."""


@dataclass(slots=True)
class Life:
    """One process, as the disk sees it."""

    fault: str = ""
    """One of `DEATHS`, `POWER_CUTS`, `REFUSALS`, or nothing."""
    at: int = 0
    """The operation at which it happens."""
    operations: int = 0
    dead: bool = False


class SimulatedDisk(CrashingFileSystem):
    """Operations go to the life that is lived at the moment."""

    def __init__(self, root: Path, *, boots: int = 0) -> None:
        super().__init__(root, boots=boots)
        self.life = Life()
        self.refuses = ""
        self.lost_power = False
        self.removed: Callable[[Path], None] = lambda path: None
        """Told of each file that is removed."""

    @contextmanager
    def lived(self, life: Life) -> Iterator[Life]:
        """Give the operations of the block to a life."""
        before, self.life = self.life, life
        try:
            yield life
        finally:
            self.life = before

    def flushed(self, path: Path) -> bytes:
        """Return what of a file no power cut takes; nothing of one that is not there, or not known to lie there."""
        try:
            node = self._node(path)
        except KeyError:
            return b""
        return node.synced if isinstance(node, FileNode) else b""

    def unlink(self, path: Path) -> None:
        self._refuse(path, only="read-only")
        super().unlink(path)
        self.removed(path)

    def open(self, path: Path, flags: int, *, private: bool = False) -> int:
        if flags & os.O_CREAT and not path.exists():
            self._refuse(path)
        return super().open(path, flags, private=private)

    def mkdir(self, path: Path) -> None:
        self._refuse(path)
        super().mkdir(path)

    def replace(self, source: Path, target: Path) -> None:
        self._refuse(target, only="read-only")
        super().replace(source, target)

    def write(self, fd: int, data: bytes) -> int:
        self._refuse(None)
        return super().write(fd, data)

    def _refuse(self, path: Path | None, *, only: str = "") -> None:
        if self.refuses and not self.life.dead and only in {"", self.refuses}:
            code = REFUSALS[self.refuses]
            raise OSError(code, os.strerror(code), str(path) if path else None)

    def _step(self, do: Callable[[], object], *, torn: Callable[[], object] | None = None) -> None:
        life = self.life
        if life.dead or self.lost_power:
            raise Killed
        life.operations += 1
        if life.operations != life.at or not life.fault:
            do()
            return
        if life.fault in REFUSALS:
            self.refuses = life.fault
            if torn is not None:
                torn()  # a full disk takes the beginning
                self._refuse(None)
            do()
            return
        life.dead = True
        if life.fault == "torn" and torn is not None:
            torn()
        elif life.fault != "before":
            do()
        if life.fault in POWER_CUTS:
            self.lost_power = True
        raise Killed
