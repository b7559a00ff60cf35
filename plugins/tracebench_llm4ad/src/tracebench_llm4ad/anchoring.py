"""Keeps what cases are measured against from one job to the next: the value of the starting program, and the bound.

Both are computed by this suite's own code and depend on nothing but that code, the task's options and the case. A row's key is a digest
of all of these, so that a row is right for ever or never found again. A file that cannot be read or written is done without.
"""

from __future__ import annotations

import hashlib
import math
import os
import pickle
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tracebench_llm4ad.evaluator import Rules

MOST = 100_000
"""Rows that are kept; the oldest go."""
PATIENCE = 0.1
"""Seconds to wait for another process that writes."""
TABLE = "CREATE TABLE IF NOT EXISTS anchors (key BLOB UNIQUE, start REAL, bound REAL)"


@dataclass(frozen=True, slots=True)
class Anchors:
    """What a case's values are measured against: the starting program's value, and the best known value or bound."""

    start: float
    bound: float


def cache_folder() -> Path:
    """Return `$TRACEBENCH_CACHE/llm4ad`, else `trace-bench/llm4ad` in the user's cache folder (XDG base directories)."""
    if own := os.environ.get("TRACEBENCH_CACHE"):
        return Path(own).expanduser() / "llm4ad"
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "trace-bench" / "llm4ad"


def recall(key: bytes | None) -> Anchors | None:
    """Return what was kept under a key."""
    if key is None:
        return None
    with suppress(OSError, sqlite3.Error, TypeError), _opened() as database:
        row = database.execute("SELECT start, bound FROM anchors WHERE key = ?", (key,)).fetchone()
        return None if row is None else Anchors(start=float(row[0]), bound=float(row[1]))
    return None


def keep(key: bytes | None, anchors: Anchors) -> None:
    """Keep anchors under a key, if they can be kept."""
    if key is None or not (math.isfinite(anchors.start) and math.isfinite(anchors.bound)):
        return
    with suppress(OSError, sqlite3.Error), _opened() as database, database:
        database.execute("INSERT OR IGNORE INTO anchors VALUES (?, ?, ?)", (key, anchors.start, anchors.bound))
        database.execute("DELETE FROM anchors WHERE rowid <= (SELECT max(rowid) FROM anchors) - ?", (MOST,))


def key_of(rules: Rules[Any], instance: Any) -> bytes | None:
    """Return the digest of all that a case's anchors depend on; None for rules from elsewhere and for a case without a form as bytes."""
    kind = type(rules)
    if not kind.__module__.startswith(f"{__package__}."):
        return None
    try:
        case = pickle.dumps(instance, protocol=4)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    told = f"{_code()}\0{kind.__module__}.{kind.__qualname__}\0{rules.settings!r}\0".encode()
    return hashlib.sha256(told + case).digest()


@cache
def _code() -> str:
    """Return the state of this suite's files and of what computes beside them."""
    root = Path(__file__).parent
    states = ((path, path.stat()) for path in sorted((*root.rglob("*.py"), *root.rglob("*.json"))))
    files = [(path.relative_to(root).as_posix(), state.st_size, state.st_mtime_ns) for path, state in states]
    return repr((sys.version_info[:3], np.__version__, files))


@contextmanager
def _opened() -> Iterator[sqlite3.Connection]:
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with closing(sqlite3.connect(folder / "anchors.sqlite", timeout=PATIENCE)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute(TABLE)
        yield database
