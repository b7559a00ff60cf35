"""The public Python API: plan, run, resume, look at runs, and evaluate a task without a trainer.

A name is imported at its first use. What only some programs need stands in modules of its own: `api.records` and `api.analysis` (runs
that exist), `api.programs` (processes), `api.interpreters`, `api.sandboxes`, `api.codec`, and `api.console` (a plugin's own command).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracebench_core.analysis.opened import open_run as load_run
    from tracebench_core.api.evaluating import evaluate_task
    from tracebench_core.api.planning import Forecast, estimate, plan, validate
    from tracebench_core.api.running import BenchRunner, resume, run
    from tracebench_core.builtin.hosting import open_host
    from tracebench_core.config import load_config
    from tracebench_core.engine.doctor import Diagnosis, diagnose
    from tracebench_core.engine.plan import Plan
    from tracebench_core.engine.program import Program, run_program
    from tracebench_core.engine.runner import RunSummary
    from tracebench_core.engine.trial import Check
    from tracebench_core.plugins import Catalog, PluginHost, load_ref
    from tracebench_core.plugins.interpreters import find_python
    from tracebench_core.specs import RunConfig
    from tracebench_core.store.reader import Run

__all__ = [
    "BenchRunner",
    "Catalog",
    "Check",
    "Diagnosis",
    "Forecast",
    "Plan",
    "PluginHost",
    "Program",
    "Run",
    "RunConfig",
    "RunSummary",
    "diagnose",
    "estimate",
    "evaluate_task",
    "find_python",
    "load_config",
    "load_ref",
    "load_run",
    "open_host",
    "plan",
    "resume",
    "run",
    "run_program",
    "validate",
]

_HOMES = {
    "analysis.opened": "load_run=open_run",
    "api.evaluating": "evaluate_task",
    "api.planning": "Forecast estimate plan validate",
    "api.running": "BenchRunner resume run",
    "builtin.hosting": "open_host",
    "config": "load_config",
    "engine.doctor": "Diagnosis diagnose",
    "engine.plan": "Plan",
    "engine.program": "Program run_program",
    "engine.runner": "RunSummary",
    "engine.trial": "Check",
    "plugins": "Catalog PluginHost load_ref",
    "plugins.interpreters": "find_python",
    "specs": "RunConfig",
    "store.reader": "Run",
}
_HOME = {
    name.partition("=")[0]: (module, name.rpartition("=")[2])
    for module, names in _HOMES.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:  # what each name is, type checkers read above
    if name not in _HOME:
        raise AttributeError(f"module `{__name__}` has no attribute `{name}`")
    module, there = _HOME[name]
    value = globals()[name] = getattr(import_module(f"tracebench_core.{module}"), there)
    return value
