"""The public Python API: plan, run, resume, look at runs, and evaluate a task without a trainer.

A name is imported at its first use. What only some programs need stands in modules of its own, an idea each; the `trace-bench` command is
written with these modules alone:

* before a run: `installed` (plugins and what they offer), `configs`, `planning`, `evaluating`, `calibrating`, `checking`
* a run: `running`, `keyless` (keys and helpers of its process), `live` (one call of each model)
* runs that exist: `records`, `rundirs` (steering, mending, repeating), `regrading`, `verdicts`, `judging` (who is better), `analysis`
* for plugins: `programs` (processes), `interpreters`, `executors`, `sandboxes`, `codec`, and `console` (a plugin's own command)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_analysis.figures.opened import open_run as load_run
    from tracebench_core.plugins import Catalog, PluginHost, load_ref
    from tracebench_core.plugins.interpreters import find_python
    from tracebench_core.specs import RunConfig
    from tracebench_engine.api.evaluating import evaluate_task
    from tracebench_engine.api.planning import Forecast, estimate, plan, validate
    from tracebench_engine.api.running import BenchRunner, resume, run
    from tracebench_engine.builtin.hosting import open_host
    from tracebench_engine.checks.doctor import Diagnosis, diagnose
    from tracebench_engine.checks.trial import Check
    from tracebench_engine.config import load_config
    from tracebench_engine.door.program import Program, run_program
    from tracebench_engine.matrix.plan import Plan
    from tracebench_engine.run.rundir import glance_at_config
    from tracebench_engine.run.runner import RunSummary
    from tracebench_runs.reading.reader import Run

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
    "glance_at_config",
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

__getattr__ = imported_on_use(
    __name__,
    {
        "tracebench_analysis.figures.opened": "load_run=open_run",
        "tracebench_engine.api.evaluating": "evaluate_task",
        "tracebench_engine.api.planning": "Forecast estimate plan validate",
        "tracebench_engine.api.running": "BenchRunner resume run",
        "tracebench_engine.builtin.hosting": "open_host",
        "tracebench_engine.config": "load_config",
        "tracebench_engine.checks.doctor": "Diagnosis diagnose",
        "tracebench_engine.matrix.plan": "Plan",
        "tracebench_engine.door.program": "Program run_program",
        "tracebench_engine.run.rundir": "glance_at_config",
        "tracebench_engine.run.runner": "RunSummary",
        "tracebench_engine.checks.trial": "Check",
        "tracebench_core.plugins": "Catalog PluginHost load_ref",
        "tracebench_core.plugins.interpreters": "find_python",
        "tracebench_core.specs": "RunConfig",
        "tracebench_runs.reading.reader": "Run",
    },
)
