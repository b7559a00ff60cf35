"""The public Python API: plan, run, resume, look at runs, and evaluate a task without a trainer.

A name is imported at its first use. What only some programs need stands in modules of its own: `api.records` and `api.analysis` (runs
that exist), `api.programs` (processes and interpreters), `api.sandboxes`, `api.codec`, and `api.console` (a plugin's own command).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tracebench_core.api.running import (
        Catalog,
        Check,
        Diagnosis,
        Forecast,
        Plan,
        PluginHost,
        Program,
        Run,
        RunConfig,
        RunSummary,
        diagnose,
        estimate,
        evaluate_task,
        find_python,
        load_config,
        load_ref,
        load_run,
        open_host,
        plan,
        resume,
        run,
        run_program,
        validate,
    )

__all__ = [
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


def __getattr__(name: str) -> Any:  # what each name is, type checkers read above
    if name in __all__:
        return getattr(import_module("tracebench_core.api.running"), name)
    raise AttributeError(f"module `tracebench_core.api` has no attribute `{name}`")
