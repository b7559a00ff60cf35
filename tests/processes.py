"""Whether a process is alive, and the end of one that was killed: it needs a processor to end, which a busy machine gives it late."""

from __future__ import annotations

import time
from pathlib import Path


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
