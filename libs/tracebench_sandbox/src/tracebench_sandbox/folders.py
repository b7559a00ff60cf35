"""Private folders of untrusted code: weigh them within bounds, and remove them whatever they hold.

Nothing here follows a link, builds a path from names in the folder, or goes deeper than a bound: names are resolved from open directories.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

ENTRIES = 10_000
"""Files and folders that one private folder may hold."""
LEVELS = 32
"""How deep they may be nested."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class BreachError(Exception):
    """A private folder holds what it may not; the words complete "The process was ended: "."""


class Weighing:
    """The bytes on disk below one folder, counted until a bound is passed."""

    def __init__(self, folder: Path, *, limit: int) -> None:
        """Count at once.

        Raises:
            BreachError: when there is too much of something, or a folder that cannot be looked into.
            OSError: when the folder itself is gone.
        """
        self.bytes = 0
        self._entries = 0
        self._limit = limit
        fd = os.open(folder, _FOLDER)
        try:
            self._enter(fd, 1)
        finally:
            os.close(fd)

    def add(self, count: int) -> None:
        """Count bytes that no name leads to, too."""
        self.bytes += count
        if self.bytes > self._limit:
            raise BreachError(f"wrote more than {self._limit >> 20} MB of files")

    def _enter(self, fd: int, level: int) -> None:
        if level > LEVELS:
            raise BreachError(f"nested folders more than {LEVELS} deep")
        with os.scandir(fd) as entries:
            for entry in entries:
                self._entries += 1
                if self._entries > ENTRIES:
                    raise BreachError(f"made more than {ENTRIES:,} files and folders")
                with suppress(FileNotFoundError, NotADirectoryError):  # what vanishes on the way counts nothing
                    found = entry.stat(follow_symlinks=False)
                    self.add(found.st_blocks * 512)
                    if stat.S_ISDIR(found.st_mode):
                        self._descend(fd, entry.name, level)

    def _descend(self, fd: int, name: str, level: int) -> None:
        try:
            inner = os.open(name, _FOLDER, dir_fd=fd)
        except PermissionError:
            raise BreachError("made a folder that cannot be looked into") from None
        try:
            self._enter(inner, level + 1)
        finally:
            os.close(inner)


def remove(folder: Path) -> None:
    """Remove a folder with all that it holds; a missing one is no error.

    Folders that lie deep are first moved to the top, one level after another, so that neither a path nor a stack grows with the depth.

    Raises:
        OSError: when something cannot be removed, such as another user's.
    """
    try:
        top = os.open(folder, _FOLDER)
    except FileNotFoundError:
        return
    try:
        _open_up(top)
        token, moved = os.urandom(8).hex(), 0
        while names := os.listdir(top):  # noqa: PTH208 - of a descriptor
            for name in names:
                if _unlink(name, top):
                    continue
                fd = _look_into(name, top)
                try:
                    for inner in os.listdir(fd):  # noqa: PTH208 - as above
                        if not _unlink(inner, fd):
                            os.close(_look_into(inner, fd))
                            moved += 1
                            os.rename(inner, f"{token}-{moved}", src_dir_fd=fd, dst_dir_fd=top)
                finally:
                    os.close(fd)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)
    folder.rmdir()


def _unlink(name: str, fd: int) -> bool:
    """Remove a file or an empty folder; False for a folder that is not empty."""
    try:
        os.unlink(name, dir_fd=fd)
    except IsADirectoryError:
        try:
            os.rmdir(name, dir_fd=fd)
        except OSError as err:
            if err.errno != errno.ENOTEMPTY:
                raise
            return False
    return True


def _look_into(name: str, fd: int) -> int:
    """Open a folder whose mode may forbid it."""
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
    try:
        _open_up(handle)
        return os.open(name, _FOLDER, dir_fd=fd)
    finally:
        os.close(handle)


def _open_up(fd: int) -> None:
    Path(f"/proc/self/fd/{fd}").chmod(0o700)
