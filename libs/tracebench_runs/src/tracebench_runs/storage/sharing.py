"""Who besides its owner may read a run: private, unless its folder says otherwise, which what is made in it then follows.

A shared folder carries the set-group-id bit, which the kernel hands on to the folders inside it. Every process that writes there
finds the bit, so that none needs to be told; and what a person shares by `chmod g+rxs` stays shared.
A run's own folder does not follow the one that it lies in.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Literal

Share = Literal["private", "group", "world"]
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
_FOLDERS: dict[Share, int] = {"private": 0o700, "group": 0o750, "world": 0o755}
_READABLE, _LISTABLE = 0o044, 0o055


def open_file(path: Path | str, flags: int, *, private: bool = False) -> int:
    """Open a file; one that is made is as readable as its folder, where that is shared and it is not to be private, and private else."""
    shared = _bits(Path(path).parent) & _READABLE if flags & os.O_CREAT and not private else 0
    fd = os.open(path, flags, PRIVATE_FILE | shared)
    if shared:
        with suppress(PermissionError):  # somebody else's
            os.fchmod(fd, PRIVATE_FILE | shared)  # whatever the umask says
    return fd


def make_folder(path: Path) -> None:
    """Make a folder that is as readable as the one it lies in, where that is shared, and private anywhere else."""
    shared = _bits(path.parent) & _LISTABLE
    path.mkdir(PRIVATE_FOLDER | shared)
    if shared:
        path.chmod(PRIVATE_FOLDER | shared | stat.S_ISGID)


def make_root(path: Path, who: Share) -> None:
    """Make a folder that is open to whom it is said to be, with all that comes into being in it, whatever the folder above it says.

    Raises:
        FileExistsError: when there is one; it stays as it is.
    """
    path.mkdir(PRIVATE_FOLDER)
    path.chmod(_FOLDERS[who] | (0 if who == "private" else stat.S_ISGID))  # the bit of the folder above is handed down


def readers(path: Path) -> Literal["", "group", "world"]:
    """Return who besides its owner may read a file or list a folder, were it let through the folders above."""
    mode = path.lstat().st_mode
    return "world" if mode & stat.S_IROTH else "group" if mode & stat.S_IRGRP else ""


def is_withheld(path: Path) -> bool:
    """Say whether a file is there and is not for the eyes of whoever asks."""
    return path.exists() and not os.access(path, os.R_OK)


def close(path: Path) -> None:
    """Make a file its owner's alone; what is not there, no file, or somebody else's stays as it is."""
    with suppress(OSError):
        if stat.S_ISREG(path.lstat().st_mode) and readers(path):
            path.chmod(PRIVATE_FILE)


def _bits(folder: Path) -> int:
    """Return the mode of a shared folder, and nothing for any other."""
    try:
        mode = os.stat(folder or ".").st_mode  # noqa: PTH116 - 100,000 times a run
    except OSError:
        return 0
    return mode if mode & stat.S_ISGID else 0
