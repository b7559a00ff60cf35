"""The local executor with the core's own template entry."""

from __future__ import annotations

from tracebench_engine.run.local.executor import LocalExecutor


def build() -> LocalExecutor:
    """Return the executor that runs jobs on this machine."""
    return LocalExecutor("tracebench_engine.builtin.template_main")
