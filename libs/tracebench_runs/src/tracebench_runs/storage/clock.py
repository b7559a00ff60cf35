"""The time of day as files carry it."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache

_SECOND, _MILLISECOND = 1_000_000_000, 1_000_000
"""In nanoseconds."""


def utc_now() -> datetime:
    """Return the time of day in UTC."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """Return a UTC time as `2026-11-21T04:05:06.789Z`; such texts sort by time."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def timestamp_of(ns: int) -> str:
    """Return nanoseconds since 1970, as `time.time_ns` has them, as `timestamp` writes them."""
    second, rest = divmod(ns, _SECOND)
    return f"{_whole(second)}.{rest // _MILLISECOND:03}Z"


@lru_cache(maxsize=1)
def _whole(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
