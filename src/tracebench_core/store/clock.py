"""The time of day as files carry it."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> datetime:
    """Return the time of day in UTC."""
    return datetime.now(UTC)


def timestamp(moment: datetime) -> str:
    """Return a UTC time as `2026-11-21T04:05:06.789Z`; such texts sort by time."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
