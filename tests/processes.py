"""What a busy machine gives late: the end of a process that was killed, which needs a processor for it, and the time for a measurement."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tracebench_core.contracts import NotMeasured

_T = TypeVar("_T")


def is_alive(pid: int) -> bool:
    """Tell whether there is such a process, and it has not ended yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False


def has_ended(pid: int, *, seconds: float = 20.0) -> bool:
    """Tell whether a process is gone, or goes within so many seconds."""
    limit = time.monotonic() + seconds
    while is_alive(pid) and time.monotonic() < limit:
        time.sleep(0.02)
    return not is_alive(pid)


def measured(attempt: Callable[[], _T]) -> _T:
    """Return what an attempt comes to: another is made, as the engine does, where the machine was too busy for a measurement."""
    for _ in range(7):
        try:
            return attempt()
        except NotMeasured:
            continue
    return attempt()
