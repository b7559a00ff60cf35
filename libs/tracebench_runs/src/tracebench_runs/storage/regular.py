"""Opens the files of a run directory to be read: regular ones of a size that can be, whatever else somebody has put in their place."""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import BinaryIO

from tracebench_core.errors import RunDirError

LARGEST = 1 << 34
"""Bytes of the largest file that is read piece by piece."""
LARGEST_WHOLE = 1 << 30
"""Bytes of the largest file that is read at once."""
_SPARSE_FROM = 1 << 26
_SPARSE = 100
"""A file of that many bytes, of which the disk holds less than one in so many, is holes; no file system packs ours so well."""
_WITHIN = re.compile(
    r"(?:^|/)((?:(?:jobs|attempts)/[^/]+(?:/(?:artifacts|blobs|tb)(?:/[^/]+)*)?)|meta|llm(?:/blobs(?:/[^/]+)*)?)/[^/]+$"
)
"""The folders of a run in the path of a file, as the layout names them."""
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
"""By which a file is opened that may be none: without waiting, and through no link."""


class IrregularFileError(RunDirError, OSError):
    """Something lies in the place of a file that is no file of a run."""

    def __init__(self, path: Path | str, words: str) -> None:
        RunDirError.__init__(self, f"`{path}` cannot be read: {words}.", hint="trace-bench fsck RUN --repair")
        self.errno, self.strerror, self.filename = errno.EINVAL, words, str(path)

    def __str__(self) -> str:
        """Return the sentence."""
        return str(self.args[0])


def open_regular(
    path: Path | str, *, largest: int = LARGEST, folder: int | None = None, buffering: int = -1
) -> BinaryIO:
    """Open a file to be read; never wait for one that another process has to open, too, and follow no link.

    `folder` is a descriptor that a relative `path` starts from. A run, or the folder of runs, may be a link; nothing within a run may.

    Raises:
        IrregularFileError: for what is no regular file, or too large a one, or lies behind a link within a run.
        OSError: as `open` does.
    """
    if folder is None and (link := link_above(os.fspath(path))):
        raise IrregularFileError(path, f"`{link}` is a link")
    try:
        fd = os.open(path, FLAGS, dir_fd=folder)
    except OSError as err:
        if err.errno in {errno.ELOOP, errno.ENXIO}:
            raise IrregularFileError(path, "it is a link, or no file") from err
        raise
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise IrregularFileError(path, "it is no regular file")
        if found.st_size > largest:
            raise IrregularFileError(path, f"it has {found.st_size:,} bytes, more than any file of a run")
        if found.st_size > _SPARSE_FROM and found.st_blocks * 512 * _SPARSE < found.st_size:
            raise IrregularFileError(path, "it consists of holes")
        return os.fdopen(fd, "rb", buffering=buffering)
    except BaseException:
        os.close(fd)
        raise


def link_above(path: str) -> str:
    """Return the folder within a run that a file's path leads through and that is a link; nothing where there is none."""
    found = _WITHIN.search(path)
    if found is None:
        return ""
    above = path[: found.start(1)]
    for name in found[1].split("/"):
        above += name
        if os.path.islink(above):  # noqa: PTH114 - text: a resumed run asks for 100,000
            return above
        above += os.sep
    return ""


def read_whole(path: Path | str) -> bytes:
    """Return the content of a file; raises as `open_regular` does."""
    with open_regular(path, largest=LARGEST_WHOLE) as content:
        return content.read()
