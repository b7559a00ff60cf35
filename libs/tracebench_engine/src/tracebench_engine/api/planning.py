"""What a config means, what it is expected to use, and whether it is sound."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tracebench_analysis.estimates.estimate import Estimator, RunEstimate, estimate_run
from tracebench_analysis.estimates.history import History, read_history
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import RunConfig
from tracebench_engine.builtin.hosting import open_host
from tracebench_engine.checks.affording import Told, known_of, scoring_words
from tracebench_engine.checks.placing import outlook
from tracebench_engine.checks.trial import TRIAL_SECONDS, Check, Trials
from tracebench_engine.checks.validation import refuse_wrong_names as _refuse
from tracebench_engine.checks.validation import validate_config
from tracebench_engine.matrix.costs import advised, declared_costs, reasons
from tracebench_engine.matrix.plan import Plan, make_plan
from tracebench_engine.matrix.reserve import unshared_words
from tracebench_runs.prices import PriceTable


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
    where: tuple[str, ...] = ()
    """Where its jobs would run, as the executor says it; nothing of one that runs them here."""
    unshared: str | None = None
    """That a job may take all of the run's budget, and the line that gives each its part; None where no job may."""
    advice: tuple[str, ...] = ()
    """What trainers could not do, or not tell apart, at their jobs' budgets."""

    def scoring_words(self) -> list[Told]:
        """Return by task what the engine's own scoring of a job asks of models, and what caps that."""
        return scoring_words(self.plan.config, ((job, self.run.jobs[job.job_id]) for job in self.plan.jobs))


def estimate(config: RunConfig, *, root: Path | None = None, host: PluginHost | None = None) -> Forecast:
    """Estimate a run from what its trainers declare and from the past runs in `runs_dir`.

    Only tasks that do not declare their sizes are opened; no model is asked.

    Raises:
        ConfigError: for what cannot be resolved.
        NothingSelectedError: when no task is selected.
    """
    used = host or open_host(root=root, plugins=config.plugins)
    planned = make_plan(config, used, environ=os.environ)
    declared = declared_costs(planned, used)
    history = read_history(Path(config.runs_dir), planned.jobs)
    estimator = Estimator(
        history, PriceTable(config.llm.prices), eval_workers=config.eval_workers, scoring_budget=config.scoring_budget
    )
    jobs = {job.job_id: estimator.job(job, known_of(declared[job.job_id])) for job in planned.jobs}
    expected = estimate_run(jobs, run_budget=config.run_budget, workers=config.max_workers)
    unshared = unshared_words(config, len(planned.jobs))
    where = outlook(planned, used)
    unknown, advice = tuple(reasons(declared.values())), tuple(advised(planned, declared))
    return Forecast(planned, expected, history, unknown, where, unshared, advice)


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


def refuse_wrong_names(config: RunConfig, *, root: Path | None = None) -> None:
    """Look up what a config names, and no more: no task is opened, and nobody is asked what a model needs.

    Raises:
        ConfigError: naming every name that nothing has.
        NothingSelectedError: when no task is selected.
    """
    _refuse(config, open_host(root=root, plugins=config.plugins), environ=os.environ)
