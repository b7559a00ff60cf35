"""Runs that are under way on this machine: finding, watching and steering them."""

from tracebench_engine.door.control_registry import RunEntry, entries
from tracebench_engine.run.control_find import (
    LiveRun,
    await_end,
    find_live_job,
    live_runs,
    nearest_live_run,
    tell,
    workers_of,
)
from tracebench_engine.run.control_follow import follow_lines, follow_run

__all__ = [
    "LiveRun",
    "RunEntry",
    "await_end",
    "entries",
    "find_live_job",
    "follow_lines",
    "follow_run",
    "live_runs",
    "nearest_live_run",
    "tell",
    "workers_of",
]
