"""Trace-Bench: the fair bench for LLM-as-optimizer algorithms.

The public Python API. Names are imported on first use, so that `import tracebench_core` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOME = {
    "hookimpl": "tracebench_core.hookspecs",
    "RunConfig": "tracebench_core.specs",
    "load_config": "tracebench_core.api",
    "plan": "tracebench_core.api",
    "run": "tracebench_core.api",
    "BenchRunner": "tracebench_core.api",
    "resume": "tracebench_core.api",
    "load_run": "tracebench_core.api",
    "evaluate_task": "tracebench_core.api",
}

__all__ = sorted(_HOME)  # noqa: PLE0605 - derived from the one table of names


def __getattr__(name: str) -> Any:  # the API's own types are known to type checkers through tracebench_core.api
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module `tracebench_core` has no attribute `{name}`")
