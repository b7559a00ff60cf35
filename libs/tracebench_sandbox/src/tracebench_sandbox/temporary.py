"""Folders in the system's temporary folder that say whose they are, so that those of dead processes can be swept."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_NAME = re.compile(r"trace-bench-(?:[a-z]+-)?p(?P<pid>\d+)-.+")


def prefix(kind: str = "") -> str:
    """Return how the name of a temporary folder of this process begins; `kind` is a lower-case word."""
    return f"trace-bench-{kind}{'-' if kind else ''}p{os.getpid()}-"


def make_folder(kind: str = "") -> Path:
    """Make a temporary folder of this process, for this user alone."""
    return Path(tempfile.mkdtemp(prefix=prefix(kind)))


@contextmanager
def scratch_folder(kind: str = "") -> Iterator[Path]:
    """Make a temporary folder that is removed at the end; when this process is killed, by the next run or `doctor`."""
    with tempfile.TemporaryDirectory(prefix=prefix(kind)) as name:
        yield Path(name)


def leftovers() -> Iterator[Path]:
    """Yield this user's temporary folders whose owner has ended without removing them."""
    for path in sorted(Path(tempfile.gettempdir()).glob("trace-bench-*")):
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
