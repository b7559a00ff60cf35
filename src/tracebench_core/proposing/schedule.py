"""How long a trainer goes on: as many steps as it is told, or as long as a cap of its budget is being spent."""

from __future__ import annotations

from collections.abc import Iterator

from tracebench_core.contracts import Problem
from tracebench_core.specs import Axis

MOST_STEPS = 10_000
"""Ends a training whose caps are spent so slowly that they hardly bind."""

IDLE_STEPS = 20
"""Steps in a row that spend nothing after which a training has come to its end."""


def schedule(problem: Problem, steps: int | None, *, default: int) -> Iterator[int]:
    """Yield the index of each step that is still to do.

    With `steps`, so many. Without, `default` of them, and more while steps use up some of an axis that the job's budget caps: with a cap,
    all trainers then use equally much, and a cap on what a trainer never uses does not bind.
    The cap itself ends the training, by `BudgetExhausted`, and `MOST_STEPS` ends one that never gets there.
    """
    if steps is not None:
        yield from range(steps)
        return
    axes = tuple(problem.budget.caps.caps())
    spent, idle = _spent(problem, axes), 0
    for index in range(MOST_STEPS):
        if index >= default and (idle == index or idle >= IDLE_STEPS):
            return
        yield index
        before, spent = spent, _spent(problem, axes)
        idle = idle + 1 if spent == before else 0


def _spent(problem: Problem, axes: tuple[Axis, ...]) -> tuple[float | None, ...]:
    used = problem.budget.used()
    return tuple(getattr(used, axis) for axis in axes)
