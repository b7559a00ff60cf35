"""The folder of clones, prepared files and environments, and how processes take turns in it."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def cache() -> Path:
    """Return the folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "trace-bench" / "autoresearch"


def environments() -> Path:
    """Return the folder of all environments, which boxes may read."""
    place = cache() / "environments"
    place.mkdir(parents=True, exist_ok=True)
    return place


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Keep other processes from making the same place at the same time."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
