"""What holds when a run that exists is run again: the same config goes on, another one is refused or extends it, versions are compared."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import yaml

from tracebench_core.errors import RunDirError, UsageError, quoted
from tracebench_core.ids import did_you_mean
from tracebench_core.plugins import PluginHost
from tracebench_core.specs import ADDING, Axis, Budget, JobSpec, RunConfig
from tracebench_engine.matrix.plan import Plan
from tracebench_engine.run.control import RunControl
from tracebench_runs.journal.trust import read_trust
from tracebench_runs.journal.witness import demand_journal
from tracebench_runs.meta.manifest import read_head
from tracebench_runs.meta.meta import read_config
from tracebench_runs.meta.planned import PlannedJobs, changed_kinds, ids_of, read_jobs
from tracebench_runs.reading.reader import load_run
from tracebench_runs.storage.layout import RunLayout

log = logging.getLogger(__name__)

MOST_SHOWN = 8

Extend = bool | Literal["seeds"]
"""What may be added to a run that exists: everything, nothing but further seeds of what is in it, or nothing."""


def continued_jobs(layout: RunLayout, plan: Plan, *, config_hash: str, extend: Extend) -> Sequence[JobSpec]:
    """Return the jobs of a run that exists, and after them what the plan adds. What is there stays as it was planned.

    Raises:
        RunDirError: when the config is another one and the run is not to be extended (it names the fields that differ), or when seeds
            alone are to be added and the config does not have all jobs of the run.
    """
    head = read_head(layout)
    trust = read_trust(layout)
    for file in (layout.manifest, layout.config_snapshot, layout.salts):
        trust.demand_meta(layout, file)
    demand_journal(layout, trust=trust)
    stored = read_jobs(layout)
    known = {*stored.ids()}
    changes = list(_changes(read_config(layout).model_dump(mode="json"), plan.config.model_dump(mode="json")))
    is_same = head.get("config_hash") == config_hash or (not changes and known == {*ids_of(plan.jobs)})
    if not is_same and not extend:
        shown = "; ".join(changes[:MOST_SHOWN]) + ("; …" if len(changes) > MOST_SHOWN else "")
        raise RunDirError(
            f"Run `{layout.run_id}` exists with another config: {shown or 'its plan differs'}.",
            hint="choose another run_id, or add --extend to keep what is there and run what is new; to go on with it as it was: "
            f"trace-bench resume {quoted(layout.path)}",
        )
    added = _further_seeds(plan, stored) if extend == "seeds" else [j for j in plan.jobs if j.job_id not in known]
    return (*stored, *added) if added else stored


def _further_seeds(plan: Plan, stored: PlannedJobs) -> list[JobSpec]:
    """Return the plan's jobs that repeat what the run has with seeds that it has not: none that a limit once left out."""
    known = {*stored.ids()}
    lacking = known - {*ids_of(plan.jobs)}
    if lacking:
        job = stored.chosen(lacking.__contains__)[0]
        raise RunDirError(
            f"{len(lacking)} of {len(known)} jobs of the run are not in this config, such as `{job.trainer_id}` on `{job.task_id}` with "
            f"seed {job.seed}: it does not say what the further seeds are of.",
            hint="name all of its tasks, trainers and seeds, and the further seeds; or add anything with --extend",
        )
    seeds, each = {job.seed for job in stored}, len(plan.config.seeds)
    rows = (plan.jobs[start : start + each] for start in range(0, len(plan.jobs), each))  # a plan has seeds innermost
    return [job for row in rows if any(j.job_id in known for j in row) for job in row if job.seed not in seeds]


def as_installed(plan: Plan, host: PluginHost) -> Plan:
    """Return the plan with the versions that are installed now, which unfinished jobs will run with; a change is told.

    Raises:
        RunDirError: when a task's results are no longer comparable with those that the run was planned for.
    """
    changed: dict[str, str] = {}

    def changed_to(job: JobSpec) -> JobSpec:
        spec = plan.tasks[job.task_id]
        if spec.version.comparability != job.task_version.comparability:
            raise RunDirError(
                f"Task `{job.task_id}` is installed with comparability version {spec.version.comparability}; the run was planned with"
                f" {job.task_version.comparability}, and their scores cannot be compared.",
                hint=f"install {job.plugin_version} again, or start a new run",
            )
        now = host.version_of("task", job.task_id)
        if now == job.plugin_version:
            return job
        changed[job.plugin_version] = now
        return job.model_copy(update={"plugin_version": now})

    jobs = changed_kinds(plan.jobs, changed_to)
    for before, now in changed.items():
        log.warning("planned with %s, running with %s: each job's result says which it ran with", before, now)
    return replace(plan, jobs=jobs)


def _changes(before: Any, after: Any, at: str = "") -> Iterator[str]:
    """Yield where two configs differ, as `field: before -> after`; the run's own name is no difference."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in [*before, *(name for name in after if name not in before)]:
            if at or name not in {"run_id", "runs_dir", "max_workers", "eval_workers", "retries", "resume", "share"}:
                yield from _changes(before.get(name), after.get(name), f"{at}.{name}" if at else name)
    elif _are_tables(before) and _are_tables(after) and len(before) == len(after):
        for i, (one, other) in enumerate(zip(before, after, strict=True)):
            yield from _changes(one, other, f"{at}[{i}]")
    elif before != after:
        yield f"`{at}`: {_short(before)} -> {_short(after)}"


def _are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, dict) for item in value)


def _short(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, width=1000).removesuffix("...\n").strip()
    return text if len(text) <= 80 else f"{text[:77]}…"  # noqa: PLR2004 - a line


def with_run_budget(config: RunConfig, budget: Budget, *, layout: RunLayout) -> RunConfig:
    """Return the config with the caps that `budget` sets in place of the run's own.

    Raises:
        UsageError: when the run has spent such a cap already.
    """
    changed: dict[str, Any] = {axis: getattr(budget, axis) for axis in budget.caps()}
    spent = _spent(layout)
    for axis in ADDING:  # seconds count anew in each process
        if axis in changed and spent[axis] >= changed[axis]:
            raise UsageError(
                f"Run `{layout.run_id}` has spent {spent[axis]:g} {axis} already, and the new cap is {changed[axis]:g}.",
                hint=f"give a cap above {spent[axis]:g}",
            )
    return config.model_copy(update={"run_budget": config.run_budget.model_copy(update=changed)})


def refuse_unknown_error(layout: RunLayout, error_type: str) -> None:
    """Refuse a type of error with which no job of the run failed.

    Raises:
        UsageError: naming the nearest type that there is.
    """
    results = load_run(layout.path).results.values()
    known = {result.error.type for result in results if result.error is not None and result.status != "ok"}
    if error_type not in known:
        raise UsageError(
            f"No job of run `{layout.run_id}` failed with `{error_type}`.{did_you_mean(error_type, known)}",
            hint=f"there are: {', '.join(sorted(known)) or 'no failures'}",
        )


def record_resume(layout: RunLayout, *, failed: bool, error_type: str | None, **caps: Budget | None) -> None:
    """Keep in `control.jsonl` who continued the run, and how. Only the holder of the run's lock may."""
    details: dict[str, Any] = {"failed": failed, "error_type": error_type}
    details |= {name: budget.model_dump(exclude_none=True) for name, budget in caps.items() if budget is not None}
    RunControl(layout, iter(())).record("resume", **{k: v for k, v in details.items() if v})


def _spent(layout: RunLayout) -> dict[Axis, float]:
    """Return what the jobs' present results add up to; an unknown price counts as nothing."""
    used = [result.used for result in load_run(layout.path).results.values()]
    return {axis: sum(getattr(u, axis) or 0 for u in used) for axis in ADDING}
