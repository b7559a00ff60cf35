"""The children's private folders, each with the ruleset that confines a child to it, from first to last."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from tracebench_core.sandbox.folders import remove
from tracebench_core.sandbox.lockdown import Lockdown, die_with


class Box(NamedTuple):
    """A private folder, and the descriptor of the ruleset that goes with it; -1 for none."""

    path: Path
    confinement: int


class Boxes:
    """Makes a fresh folder for each request under one root, and removes it after."""

    def __init__(self, root: Path, *, lockdown: Lockdown) -> None:
        self._root = root
        self._lockdown = lockdown
        self._removers: set[int] = set()
        self._count = 0
        self._me = os.getpid()

    @property
    def removers(self) -> set[int]:
        """The processes that remove folders."""
        return self._removers

    def take(self, *, family: bool) -> Box:
        """Return an empty folder, which a candidate's process finds as its current, home and temporary one."""
        self._count += 1
        path = self._root / f"{self._count:x}"
        path.mkdir(mode=0o700)
        if family:
            return Box(path, -1)
        try:
            box = Box(path, self._lockdown.confinement(path))
        except OSError:
            path.rmdir()
            raise
        os.chdir(path)
        os.environ["HOME"] = os.environ["TMPDIR"] = str(path)
        if (tempfile := sys.modules.get("tempfile")) is not None:
            tempfile.__dict__["tempdir"] = None
        return box

    def give_back(self, box: Box) -> None:
        """Remove a folder; one that is not empty is left to a process of its own."""
        if box.confinement >= 0:
            os.close(box.confinement)
        try:
            box.path.rmdir()
        except OSError:
            self._removers.add(self._start_removing(box.path))

    def reap(self) -> None:
        """Reap the processes that have removed their folders."""
        for pid in list(self._removers):
            if os.waitpid(pid, os.WNOHANG)[0]:
                self._removers.discard(pid)

    def _start_removing(self, path: Path) -> int:
        pid = os.fork()
        if pid == 0:
            try:
                die_with(self._me)
                os.closerange(3, 1 << 20)
                remove(path)
            finally:
                os._exit(0)
        return pid
