"""The children's private folders, each with the ruleset that confines a child to it, from first to last.

A folder serves again only where nothing in it or about it tells who was there: it holds nothing, its own record is that of a new one in
every field that a candidate can change, and its times are set back. To make and remove one costs as much as half a fork.
"""

from __future__ import annotations

import fcntl
import os
import struct
import sys
from pathlib import Path
from typing import NamedTuple

from tracebench_sandbox.folders import remove
from tracebench_sandbox.template.lockdown import Lockdown, die_with

KEPT = 8
"""Folders that wait to serve again."""
_FLAGS = 0x80086601
"""`FS_IOC_GETFLAGS` of linux/fs.h."""


class Box(NamedTuple):
    """A private folder, and the descriptor of the ruleset that goes with it; -1 for none."""

    path: Path
    confinement: int


class Boxes:
    """Has an untouched folder for each request under one root, and removes those that were touched."""

    def __init__(self, root: Path, *, lockdown: Lockdown) -> None:
        self._root = root
        self._lockdown = lockdown
        self._removers: set[int] = set()
        self._kept: list[Box] = []
        self._new: tuple[object, ...] = ()
        """How a new folder looks."""
        self._count = 0
        self._me = os.getpid()

    @property
    def removers(self) -> set[int]:
        """The processes that remove folders."""
        return self._removers

    @property
    def busy(self) -> bool:
        """Whether there is something left to remove."""
        return bool(self._removers or self._kept)

    def take(self, *, family: bool) -> Box:
        """Return an empty folder, which a candidate's process finds as its current, home and temporary one."""
        if self._kept and not family:
            box = self._kept.pop()
            _stand_in(box.path)
            return box
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
        look = _look(path)
        self._new = self._new or look
        _stand_in(path)
        return box

    def give_back(self, box: Box) -> None:
        """Keep a folder that is as good as new; else remove it, one that is not empty by a process of its own."""
        if box.confinement >= 0 and len(self._kept) < KEPT and self._new and _look(box.path) == self._new:
            self._kept.append(box)
            return
        self._remove(box)

    def forget(self) -> None:
        """Remove the folders that wait to serve again."""
        while self._kept:
            self._remove(self._kept.pop())

    def _remove(self, box: Box) -> None:
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


def _stand_in(path: Path) -> None:
    """Make a folder the current, home and temporary one of the children that are forked next."""
    os.chdir(path)
    os.environ["HOME"] = os.environ["TMPDIR"] = str(path)
    if (tempfile := sys.modules.get("tempfile")) is not None:
        tempfile.__dict__["tempdir"] = None


def _look(path: Path) -> tuple[object, ...]:
    """Set a folder's times back, and return all else that a candidate can change of it; empty where that cannot be told."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ()
    try:
        if os.listdir(fd) or os.listxattr(fd):  # noqa: PTH208 - of a descriptor
            return ()
        os.utime(fd, ns=(0, 0))
        found = os.fstat(fd)
        return found.st_mode, found.st_uid, found.st_gid, found.st_nlink, found.st_size, _flags(fd)
    except OSError:
        return ()
    finally:
        os.close(fd)


def _flags(fd: int) -> int:
    try:
        (flags,) = struct.unpack("@l", fcntl.ioctl(fd, _FLAGS, bytes(struct.calcsize("@l"))))
    except OSError:  # a file system without any
        return 0
    return int(flags)
