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
    from tracebench_analysis.figures.analysed_run import load_run as load_run
    from tracebench_core.plugins import Catalog as Catalog, PluginHost as PluginHost, load_ref as load_ref
    from tracebench_core.plugins.interpreters import find_python as find_python
    from tracebench_core.specs import RunConfig as RunConfig
    from tracebench_engine.api.evaluating import evaluate_task as evaluate_task
    from tracebench_engine.api.planning import (
        Forecast as Forecast,
        estimate as estimate,
        plan as plan,
        validate as validate,
    )
    from tracebench_engine.api.running import BenchRunner as BenchRunner, resume as resume, run as run
    from tracebench_engine.builtin.hosting import open_host as open_host
    from tracebench_engine.checks.doctor import Diagnosis as Diagnosis
    from tracebench_engine.checks.folders import try_folder as try_folder
    from tracebench_engine.checks.trial import Check as Check
    from tracebench_engine.config import load_config as load_config
    from tracebench_engine.door.program import Program as Program, run_program as run_program
    from tracebench_engine.matrix.plan import Plan as Plan
    from tracebench_engine.run.local.diagnosis import diagnose as diagnose
    from tracebench_engine.run.rundir import glance_at_config as glance_at_config
    from tracebench_engine.run.runner import RunSummary as RunSummary
    from tracebench_runs.reading.reader import Run as Run

__getattr__ = imported_on_use(__name__)
