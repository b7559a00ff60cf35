"""A place beside what is to be written, until that is whole. What a process that was killed left there goes with the next one."""

from __future__ import annotations

import fcntl
import glob
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path


@contextmanager
def draft_beside(target: Path) -> Iterator[Path]:
    """Yield a path with the name of `target` in a folder of its own beside it, which is gone at the end with all that is in it.

    Folders of the same target whose process was killed are removed first.

    Raises:
        OSError: when there can be no folder.
    """
    name = f".{target.name}.trace-bench-"
    for left in target.parent.glob(f"{glob.escape(name)}*.part"):
        with suppress(OSError), _held(left):
            shutil.rmtree(left)
    folder = target.parent / f"{name}{secrets.token_hex(6)}"
    try:
        folder.mkdir(mode=0o700)
    except OSError as err:
        raise OSError(err.errno, err.strerror, str(target)) from err
    with ExitStack() as stack:
        stack.callback(lambda: shutil.rmtree(folder, ignore_errors=True))
        with suppress(OSError):  # where nothing can be held, nothing is removed
            stack.enter_context(_held(folder))
        folder = folder.rename(f"{folder}.part")  # the next one looks at it from here on
        yield folder / target.name


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold a folder, which no other process may hold meanwhile."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(fd)
