"""Who besides its owner may read a run: private, unless its folder says otherwise, which what is made in it then follows.

A shared folder carries the set-group-id bit, which the kernel hands on to the folders inside it. Every process that writes there
finds the bit, so that none needs to be told; and what a person shares by `chmod g+rxs` stays shared.
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


def open_file(path: Path | str, flags: int) -> int:
    """Open a file; one that is made is as readable as its folder, where that is shared, and private anywhere else."""
    shared = _bits(Path(path).parent) & _READABLE if flags & os.O_CREAT else 0
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


def share(folder: Path, who: Share) -> None:
    """Open a folder, and all that comes into being in it from now on, to the group that it belongs to, or to everybody."""
    if who != "private":
        folder.chmod(_FOLDERS[who] | stat.S_ISGID)


def _bits(folder: Path) -> int:
    """Return the mode of a shared folder, and nothing for any other."""
    try:
        mode = os.stat(folder or ".").st_mode  # noqa: PTH116 - 100,000 times a run
    except OSError:
        return 0
    return mode if mode & stat.S_ISGID else 0
