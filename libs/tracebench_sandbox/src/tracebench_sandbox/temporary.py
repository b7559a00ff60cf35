"""Folders in the system's temporary folder that say whose they are, so that those of dead processes can be swept."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

SHALLOW = "/tmp"  # noqa: S108 - what is made in it has a name that nobody guesses, and is this user's alone
"""Where sockets lie when the system's temporary folder is too deep for them."""
_DEEPEST = 57
"""Bytes of a folder's path in which a folder with a socket has room: of 107, 50 are its own name and the socket's."""
_NAME = re.compile(r"trace-bench-(?:[a-z]+-)?p(?P<pid>\d+)-.+")


def prefix(kind: str = "") -> str:
    """Return how the name of a temporary folder of this process begins; `kind` is a lower-case word."""
    return f"trace-bench-{kind}{'-' if kind else ''}p{os.getpid()}-"


def make_folder(kind: str = "") -> Path:
    """Make a temporary folder of this process, for this user alone."""
    return Path(tempfile.mkdtemp(prefix=prefix(kind)))


def socket_folder(kind: str) -> Path:
    """Make one for a socket with a name of six letters at most, whose whole path may have 107 bytes (unix(7))."""
    is_deep = len(os.fsencode(tempfile.gettempdir())) > _DEEPEST and os.access(SHALLOW, os.W_OK)
    return Path(tempfile.mkdtemp(prefix=prefix(kind), dir=SHALLOW if is_deep else None))


@contextmanager
def scratch_folder(kind: str = "") -> Iterator[Path]:
    """Make a temporary folder that is removed at the end; when this process is killed, by the next run or `doctor`."""
    with tempfile.TemporaryDirectory(prefix=prefix(kind)) as name:
        yield Path(name)


def leftovers() -> Iterator[Path]:
    """Yield this user's temporary folders whose owner has ended without removing them."""
    folders = {Path(tempfile.gettempdir()), Path(SHALLOW)}
    for path in sorted(found for folder in folders for found in folder.glob("trace-bench-*")):
        found = _NAME.fullmatch(path.name)
        if found is None or _is_running(int(found["pid"])):
            continue
        with suppress(OSError):
            status = path.lstat()
            if status.st_uid == os.geteuid() and path.is_dir() and not path.is_symlink():
                yield path


def sweep(remove: Callable[[Path], None]) -> int:
    """Remove `leftovers` by a function that may fail in silence; return how many are gone."""
    found = list(leftovers())
    for path in found:
        remove(path)
    return sum(not path.exists() for path in found)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
