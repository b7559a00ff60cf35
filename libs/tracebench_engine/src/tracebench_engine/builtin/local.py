"""The local executor with the core's own template entry."""

from __future__ import annotations

from tracebench_engine.run.local.executor import LocalExecutor
from tracebench_engine.run.local.outside import HERE, Outside


def build(outside: Outside = HERE) -> LocalExecutor:
    """Return the executor that runs jobs on this machine; `outside` is how it waits, where something else may wake it."""
    return LocalExecutor("tracebench_engine.builtin.template_main", outside=outside)
