"""The local executor with the core's own template entry."""

from __future__ import annotations

from tracebench_core.engine.local.executor import LocalExecutor


def build() -> LocalExecutor:
    """Return the executor that runs jobs on this machine."""
    return LocalExecutor("tracebench_core.builtin.template_main")
