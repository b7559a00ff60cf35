"""`plan`: what a config will use and what its seeds can tell, before anything runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracebench_engine.api.console import output
from tracebench_engine.api.console.options import AsJson, Overrides, Root, RunsDir
from tracebench_engine.cli.running.reading import config_words, read_config

if TYPE_CHECKING:
    from tracebench_core.specs import JobSpec, Range
    from tracebench_engine.api import Forecast
    from tracebench_engine.api.judging.estimates import Estimate, GroupKey, JobEstimate

LARGE = 2.0
"""Standard deviations between two means that are called huge (S. S. Sawilowsky 2009, New Effect Size Rules of Thumb)."""


def plan(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="A run config, YAML or JSON.")],
    *,
    root: Root = None,
    runs_dir: RunsDir = None,
    override: Overrides = None,
    as_json: AsJson = False,
) -> None:
    """Estimate the cost of a config, and what it can tell. Past runs in `runs_dir` make it sharper; no model is asked."""
    import json

    from tracebench_engine import api
    from tracebench_engine.api.configs import placing

    changes = [
        *(override or ()),
        *([f"runs_dir={json.dumps(runs_dir, ensure_ascii=False)}"] if runs_dir is not None else []),
    ]
    settings = read_config(config, changes, root=root)
    with placing(config, overrides=changes):
        forecast = api.estimate(settings, root=root)
    designs = [_design(forecast, task_id) for task_id in dict.fromkeys(j.task_id for j in forecast.plan.jobs)]
    warnings = _warnings(forecast, designs)
    if as_json:
        _print_json(forecast, designs, warnings)
        return
    _print_jobs(forecast)
    for design in designs:
        output.line(output.safe(_design_words(design)))
    for warning in warnings:
        output.note(f"warning: {output.safe(warning)}")
    output.note(
        f"Next:  {output.command('run', *config_words(config, root=root, runs_dir=runs_dir, override=override))}"
    )


def _print_jobs(forecast: Forecast) -> None:
    from tracebench_core.specs import AXES

    groups = _groups(forecast)
    columns = ("task", "trainer", "params", "jobs", *(axis.column for axis in AXES), "proposals", "ends by")
    output.table(
        columns, [_row(group, jobs, forecast) for group, jobs in groups.items()], least=("tokens", "params", "calls")
    )
    total = forecast.run.amounts
    workers = forecast.plan.config.max_workers
    output.line("")
    output.line(f"jobs:         {len(forecast.plan.jobs)}, {workers} at a time")
    for axis in AXES:
        output.line(f"{axis.label + ':':<14}{_range_words(total.on(axis.name), unit=axis.unit)}")
    for told in forecast.scoring_words():
        output.line(f"{'scoring:':<14}{output.safe(told.words)}")
    for words in forecast.where:
        output.line(f"{'runs on:':<14}{output.safe(words)}")
    if forecast.run.cut_by is not None:
        output.line(f"{'ends by:':<14}the run's budget of {forecast.run.cut_by}")
    learned = f"{forecast.history.jobs} past jobs" if forecast.history.jobs else "no past run; defaults stand in"
    output.note(
        f"low / likely / high; scoring by the engine is in calls, tokens, USD and time. Learned from {learned}."
    )
    for assumption in dict.fromkeys(a for job in forecast.run.jobs.values() for a in job.assumed):
        output.note(f"assumed: {assumption}")


def _groups(forecast: Forecast) -> dict[GroupKey, list[JobSpec]]:
    from tracebench_engine.api.judging.estimates import group_of

    groups: dict[GroupKey, list[JobSpec]] = {}
    for job in forecast.plan.jobs:
        groups.setdefault(group_of(job), []).append(job)
    return groups


def _row(group: GroupKey, jobs: list[JobSpec], forecast: Forecast) -> tuple[str, ...]:
    from tracebench_core.specs import AXES
    from tracebench_engine.api.judging.estimates import total_estimate

    estimates = [forecast.run.jobs[job.job_id] for job in jobs]
    amounts = total_estimate([e.amounts for e in estimates])
    return (
        group.task.task_id,
        group.label or group.trainer_id,
        group.params if group.params != "{}" else "",
        str(len(jobs)),
        *(_cell(amounts.on(axis.name)) for axis in AXES),
        _each(estimates[0].proposals),
        estimates[0].cut_by or "",
    )


def _cell(amount: Range | None) -> str:
    if amount is None:
        return "unknown"
    low, likely, high = (f"{value:.4g}" for value in (amount.low, amount.likely, amount.high))
    return likely if low == high else f"{low}/{likely}/{high}"


def _each(proposals: float | None) -> str:
    """Return how many proposals one job likely makes, whole."""
    return "unknown" if proposals is None else f"{proposals:.0f}"


def _range_words(amount: Range | None, *, unit: str = "") -> str:
    return "unknown" if amount is None else f"{amount.low:.6g} / {amount.likely:.6g} / {amount.high:.6g}{unit}"


def _design(forecast: Forecast, task_id: str) -> dict[str, Any]:
    """Return what the seeds of one task can tell: in standard deviations, and in scores where past runs show the spread."""
    from tracebench_engine.api.judging.estimates import group_of, seeds_to_resolve, smallest_difference

    job = next(job for job in forecast.plan.jobs if job.task_id == task_id)
    seeds = len(forecast.plan.config.seeds)
    smallest = smallest_difference(seeds)
    spread = forecast.history.spread(group_of(job).task, job.mode)
    return {
        "task_id": task_id,
        "seeds": seeds,
        "smallest_in_sd": smallest,
        "seeds_for_half": None if smallest is None else seeds_to_resolve(smallest / 2),
        "sd": None if spread is None else spread.deviation,
        "sd_freedom": None if spread is None else spread.freedom,
        "smallest_in_score": None if spread is None or smallest is None else smallest * spread.deviation,
    }


def _design_words(design: dict[str, Any]) -> str:
    seeds, smallest = design["seeds"], design["smallest_in_sd"]
    head = f"{design['task_id']}: {seeds} seed{'s' if seeds > 1 else ''} a trainer "
    if smallest is None:
        return head + "cannot tell a difference: there is no spread to compare with"
    found = f"{smallest:.3g} standard deviations"
    if design["sd"] is not None:
        found = f"{design['smallest_in_score']:.4g} in score ({found}; SD {design['sd']:.4g} from past runs)"
    return head + f"can tell a difference of {found}; half of it takes {design['seeds_for_half']} seeds"


def _warnings(forecast: Forecast, designs: list[dict[str, Any]]) -> list[str]:
    from tracebench_engine.api.judging.estimates import seeds_to_resolve, too_few_proposals

    found = list(forecast.unknown)
    if forecast.unshared is not None:
        found.append(forecast.unshared)
    for group, jobs in _groups(forecast).items():
        estimate = forecast.run.jobs[jobs[0].job_id]
        if too_few_proposals(estimate):
            found.append(
                f"the budget allows `{group.label or group.trainer_id}` on `{group.task.task_id}` about {estimate.proposals:.2g} of"
                f" {estimate.wanted:g} proposals; fewer than three tell nothing"
            )
    found += [f"scoring: {told.words}" for told in forecast.scoring_words() if not told.is_enough]
    found += forecast.advice
    smallest = designs[0]["smallest_in_sd"]
    if smallest is None or smallest > LARGE:
        found.append(
            f"seeds: {designs[0]['seeds']} can tell nothing but a huge difference; {seeds_to_resolve(1.0)} resolve"
            f" one standard deviation (two-sided 5 %, 80 % power)"
        )
    return found


def _print_json(forecast: Forecast, designs: list[dict[str, Any]], warnings: list[str]) -> None:
    run = forecast.run
    output.document(
        "plan",
        jobs=[
            {
                "job_id": job.job_id,
                "task_id": job.task_id,
                "trainer_id": job.trainer_id,
                "label": job.label,
                "params": job.params,
                "seed": job.seed,
                **_job_json(run.jobs[job.job_id]),
            }
            for job in forecast.plan.jobs
        ],
        total=_ranges(run.amounts),
        cut_by=run.cut_by,
        workers=forecast.plan.config.max_workers,
        runs_on=forecast.where,
        past_jobs=forecast.history.jobs,
        resolution={"alpha": 0.05, "power": 0.8, "tasks": designs},
        warnings=warnings,
    )


def _job_json(estimate: JobEstimate) -> dict[str, Any]:
    fields = asdict(estimate)
    del fields["amounts"]
    return {**_ranges(estimate.amounts), **fields, "scoring": _ranges(estimate.scoring)}


def _ranges(amounts: Estimate) -> dict[str, Any]:
    from tracebench_engine.api.judging.estimates import AXES

    return {axis: None if (r := amounts.on(axis)) is None else r.model_dump() for axis in AXES}
