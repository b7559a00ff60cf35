"""When one trainer of several has had its turn: after a share of the budget, a number of steps, or a plateau."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pydantic import Field, field_validator

from tracebench_core.contracts import Problem
from tracebench_core.specs import Spec

BATCH = 2
"""Examples of feedback that a step of the usual trainer measures, for estimates of cost only."""
WRAPPERS = frozenset({"Curriculum", "Sequence", "Portfolio"})


class Member(Spec):
    """One trainer of several."""

    trainer: str
    """The name of any that is installed."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Its settings."""

    @field_validator("trainer")
    @classmethod
    def _no_wrapper(cls, trainer: str) -> str:
        if trainer in WRAPPERS:
            raise ValueError(f"`{trainer}` wraps trainers itself and cannot be wrapped")
        return trainer


def spent_share(problem: Problem) -> float:
    """Return the part of the budget that is used, by the cap that is nearest; 0 without caps."""
    used, caps = problem.budget.used(), problem.budget.caps.caps()
    return max(((getattr(used, axis) or 0.0) / cap for axis, cap in caps.items() if cap), default=0.0)


def until(problem: Problem, *, share: float | None, patience: int | None) -> Callable[[], bool]:
    """Return a test, made at each step, of whether a turn is over: `share` of the whole budget spent in it, or
    `patience` steps without a new best candidate."""
    begun, best, waited = spent_share(problem), problem.best.id, 0

    def over() -> bool:
        nonlocal best, waited
        waited = 0 if problem.best.id != best else waited + 1
        best = problem.best.id
        plateau = patience is not None and waited > patience
        return plateau or (share is not None and spent_share(problem) - begun >= share)

    return over
