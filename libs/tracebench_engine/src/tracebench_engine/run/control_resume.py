"""What a person changes when a run is continued: a higher budget, or only the jobs that failed in one way."""

from __future__ import annotations

from typing import Any

from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean
from tracebench_core.specs import ADDING, Axis, Budget, RunConfig
from tracebench_engine.run.control import RunControl
from tracebench_runs.reading.reader import load_run
from tracebench_runs.storage.layout import RunLayout


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
