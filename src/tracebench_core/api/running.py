"""Plan, run, resume and validate; open a run; evaluate a task without a trainer."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from tracebench_core.analysis.estimate import Estimator, Known, RunEstimate, estimate_run
from tracebench_core.analysis.history import History, read_history
from tracebench_core.builtin.hosting import open_host
from tracebench_core.config import load_config
from tracebench_core.contracts import Reporter
from tracebench_core.engine.continuing import as_installed
from tracebench_core.engine.control_resume import record_resume, refuse_unknown_error, with_run_budget
from tracebench_core.engine.costs import Declared, declared_costs, reasons
from tracebench_core.engine.doctor import Diagnosis, diagnose
from tracebench_core.engine.evaluation import evaluate_values
from tracebench_core.engine.plan import Plan, make_plan
from tracebench_core.engine.preflight import refuse_unready
from tracebench_core.engine.program import Program, run_program
from tracebench_core.engine.rundir import open_run_dir, reopen_run_dir, stored_plan
from tracebench_core.engine.runner import Runner, RunSummary
from tracebench_core.engine.surroundings import Surroundings
from tracebench_core.engine.trial import TRIAL_SECONDS, Check, Trials
from tracebench_core.engine.validation import validate_config
from tracebench_core.llm.prices import PriceTable
from tracebench_core.plugins import Catalog, PluginHost, load_ref
from tracebench_core.plugins.interpreters import find_python
from tracebench_core.specs import Budget, Feedback, Resume, RunConfig, Split
from tracebench_core.store.layout import RunLayout
from tracebench_core.store.lock import RunLock
from tracebench_core.store.reader import Run

if TYPE_CHECKING:
    from tracebench_core.analysis.opened import AnalysedRun

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


def plan(config: RunConfig, *, root: Path | None = None, host: PluginHost | None = None) -> Plan:
    """Return the jobs that a config means.

    Raises:
        ConfigError: for what cannot be resolved.
        NothingSelectedError: when no task is selected.
    """
    return make_plan(config, host or open_host(root=root, plugins=config.plugins), environ=os.environ)


@dataclass(frozen=True, slots=True)
class Forecast:
    """What a config means and is expected to use."""

    plan: Plan
    run: RunEstimate
    history: History
    unknown: tuple[str, ...]
    """Why some jobs' cost is not known."""


def estimate(config: RunConfig, *, root: Path | None = None, host: PluginHost | None = None) -> Forecast:
    """Estimate a run from what its trainers declare and from the past runs in `runs_dir`. Opens every task once, asks no model.

    Raises:
        ConfigError: for what cannot be resolved.
        NothingSelectedError: when no task is selected.
    """
    used = host or open_host(root=root, plugins=config.plugins)
    planned = make_plan(config, used, environ=os.environ)
    declared = declared_costs(planned, used)
    history = read_history(Path(config.runs_dir), planned.jobs)
    estimator = Estimator(history, PriceTable(config.llm.prices), eval_workers=config.eval_workers)
    jobs = {job.job_id: estimator.job(job, _known(declared[job.job_id])) for job in planned.jobs}
    expected = estimate_run(jobs, run_budget=config.run_budget, workers=config.max_workers)
    return Forecast(planned, expected, history, tuple(reasons(declared.values())))


def validate(
    config: RunConfig,
    *,
    root: Path | None = None,
    host: PluginHost | None = None,
    strict: bool = False,
    task_timeout: float = TRIAL_SECONDS,
) -> Iterator[Check]:
    """Yield what `trace-bench validate` prints; with `strict` a task may take `task_timeout` seconds."""
    used = host or open_host(root=root, plugins=config.plugins)
    if not strict:
        yield from validate_config(config, used, environ=os.environ, trials=None)
        return
    trials = Trials(root=root, plugins=config.plugins, seconds=task_timeout)
    try:
        yield from validate_config(config, used, environ=os.environ, trials=trials)
    finally:
        trials.close()


def run(
    config: RunConfig,
    *,
    root: Path | None = None,
    force: bool = False,
    limit: int | None = None,
    extend: bool = False,
    reporter: str = "plain",
    stream: TextIO | None = None,
) -> RunSummary:
    """Run a config to its end.

    `limit` keeps the first jobs of the plan; `force` runs again what is finished; `extend` adds what the config has beyond a run of that
    `run_id` and keeps what is there; `reporter` names a live view, written to `stream`
    (standard error when None).

    Raises:
        TraceBenchError: before any job starts, when the run cannot work.
    """
    host = open_host(root=root, plugins=config.plugins)
    full = make_plan(config, host, environ=os.environ)
    chosen = full if limit is None else Plan(config, full.jobs[:limit], full.tasks, full.trainers)
    refuse_unready(chosen, environ=os.environ)
    with open_run_dir(chosen, host, root=root, environ=os.environ, extend=extend) as (layout, planned):
        mode: Resume = "none" if force else config.resume
        return _run(planned, host, layout, root=root, mode=mode, reporter=_reporter(host, reporter, stream))


def resume(
    run_dir: str | Path,
    *,
    failed: bool = False,
    error_type: str | None = None,
    run_budget: Budget | None = None,
    max_workers: int | None = None,
    reporter: str = "plain",
    stream: TextIO | None = None,
) -> RunSummary:
    """Continue a run: what is finished stays, and with `failed` what failed (with `error_type`, with that error) is run again.

    The caps that `run_budget` sets take the place of the run's own.

    Raises:
        RunDirError: when the folder is no run, or another process works on it.
        UsageError: when the run has spent a new cap already, or no job failed with `error_type`.
    """
    layout, config, root = reopen_run_dir(Path(run_dir))
    if max_workers is not None:
        config = config.model_copy(update={"max_workers": max_workers})
    if run_budget is not None:
        config = with_run_budget(config, run_budget, layout=layout)
    if error_type is not None:
        refuse_unknown_error(layout, error_type)
    host = open_host(root=root, plugins=config.plugins)
    with RunLock(layout):
        record_resume(layout, failed=failed, error_type=error_type, run_budget=run_budget)
        stored = as_installed(stored_plan(layout, config, host), host)
        refuse_unready(stored, environ=os.environ)
        mode: Resume = "failed" if failed or error_type is not None else "auto"
        shown = _reporter(host, reporter, stream)
        return _run(stored, host, layout, root=root, mode=mode, reporter=shown, error_type=error_type)


def load_run(path: str | Path) -> AnalysedRun:
    """Open a run directory, finished or under way, with its frames, curves and charts. Needs no plugin.

    Raises:
        RunDirError: when the folder is missing, is no run, or is of a newer format than this reader knows.
    """
    from tracebench_core.analysis.opened import open_run  # noqa: PLC0415 - numpy takes longer than all that starts a run

    return open_run(path)


def evaluate_task(
    task_id: str,
    values: Mapping[str, Any] | None = None,
    *,
    split: Split = "train",
    eval_kwargs: Mapping[str, Any] | None = None,
    seed: int = 0,
    root: Path | None = None,
) -> list[Feedback]:
    """Return the guide's feedback per example of a split, without a trainer, a run or a model.

    Parameters that `values` leaves out keep their initial value.
    """
    host = open_host(root=root)
    return evaluate_values(host, task_id, values, split=split, eval_kwargs=eval_kwargs, seed=seed)


def _known(declared: Declared) -> Known:
    size = declared.size
    if size is None:
        return Known(shape=None, scoring=0, uses_model=False, cost=declared.cost)
    return Known(shape=size.shape, scoring=size.scoring, uses_model=size.uses_model, cost=declared.cost)


def _run(
    plan_: Plan,
    host: PluginHost,
    layout: RunLayout,
    *,
    root: Path | None,
    mode: Resume,
    reporter: Reporter,
    error_type: str | None = None,
) -> RunSummary:
    runner = Runner(plan_, host, layout, reporter=reporter, resume=mode, error_type=error_type)
    return runner.run(lambda: Surroundings(plan_, host, layout, root=root, environ=os.environ, reuse=mode != "none"))


def _reporter(host: PluginHost, name: str, stream: TextIO | None) -> Reporter:
    built: Reporter = load_ref(host.component("reporter", name).loader, owner=name)(stream or sys.stderr)
    return built
