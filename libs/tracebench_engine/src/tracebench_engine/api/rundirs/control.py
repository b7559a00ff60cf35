"""Runs that are under way on this machine: finding, watching and steering them."""

from tracebench_engine.door.control_registry import RunEntry as RunEntry, entries as entries
from tracebench_engine.run.control_find import (
    LiveRun as LiveRun,
    await_end as await_end,
    find_live_job as find_live_job,
    live_runs as live_runs,
    nearest_live_run as nearest_live_run,
    tell as tell,
    workers_of as workers_of,
)
from tracebench_engine.run.control_follow import follow_lines as follow_lines, follow_run as follow_run
