"""The children's private folders, each with the ruleset that confines a child to it, from first to last."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from tracebench_core.sandbox.lockdown import Lockdown


class Box(NamedTuple):
    """A private folder, and the descriptor of the ruleset that goes with it; -1 for none."""

    path: Path
    confinement: int


class Boxes:
    """Makes folders under one root, and uses those again that a strongly confined candidate has left empty."""

    def __init__(self, root: Path, *, lockdown: Lockdown) -> None:
        self._root = root
        self._lockdown = lockdown
        self._free: list[Box] = []
        self._removers: set[int] = set()
        self._at: Path | None = None
        self._count = 0

    @property
    def removers(self) -> set[int]:
        """The processes that remove folders."""
        return self._removers

    def take(self, *, family: bool) -> Box:
        """Return an empty folder, which a candidate's process finds as its current, home and temporary one."""
        if family:
            return Box(self._make(), -1)
        if self._free:
            box = self._free.pop()
        else:
            path = self._make()
            box = Box(path, self._lockdown.confinement(path))
        if box.path is not self._at:
            self._at = box.path
            os.chdir(box.path)
            os.environ["HOME"] = os.environ["TMPDIR"] = str(box.path)
            if (tempfile := sys.modules.get("tempfile")) is not None:
                tempfile.__dict__["tempdir"] = None
        return box

    def give_back(self, box: Box) -> None:
        """Keep an empty folder for the next candidate, remove any other; a full one is left to a process of its own."""
        if box.confinement >= 0 and self._lockdown.strong and _is_empty(box.path):
            self._free.append(box)
            return
        if box.confinement >= 0:
            os.close(box.confinement)
        try:
            box.path.rmdir()
        except OSError:
            self._removers.add(os.posix_spawn("/bin/rm", ["rm", "-rf", "--", str(box.path)], os.environ))

    def reap(self) -> None:
        """Reap the processes that have removed their folders."""
        for pid in list(self._removers):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._removers.discard(pid)

    def _make(self) -> Path:
        self._count += 1
        path = self._root / f"{self._count:x}"
        path.mkdir(mode=0o700)
        return path


def _is_empty(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return next(entries, None) is None
