"""Two results apart from when and how fast they were measured."""

from __future__ import annotations

from typing import Any

from tracebench_core.specs import JobResult


def without_times(result: JobResult) -> dict[str, Any]:
    """Return a result as JSON data without its times; the traceback, which names addresses and paths, goes with them."""
    data = result.model_dump(mode="json")
    for name in ("time_seconds", "started_at", "ended_at"):
        del data[name]
    del data["used"]["seconds"]
    data["overshoot"].pop("seconds", None)
    for step in data["steps"]:
        del step["seconds"], step["used"]["seconds"]
    if data["error"] is not None:
        del data["error"]["traceback"]
    return data
