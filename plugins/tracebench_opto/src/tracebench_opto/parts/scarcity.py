"""What of a budget is scarce, and on how many examples a child may therefore be tested against its parent."""

from __future__ import annotations

import math
from typing import Literal

from tracebench_core.contracts import BudgetView
from tracebench_core.specs import Budget

Variant = Literal["budget", "paper"]
"""Whether a test has the size that the budget can afford, or that of the publication."""

STEPS = 20
"""A search that cannot make as many steps is narrowed rather than shortened: a step late builds on what earlier ones found."""
PAID_BY: tuple[Literal["llm_calls", "tokens", "usd"], ...] = ("llm_calls", "tokens", "usd")
"""Axes that pay for proposals."""


def affordable(budget: BudgetView, *, asks_models: bool) -> float:
    """Return on how many examples each proposal that the budget still pays for can be measured; infinite where evaluations are free.

    0 where proposals are not what is scarce: nothing caps them, time is capped, which evaluations take too, or evaluations ask models
    themselves.
    """
    proposals = _proposals_left(budget)
    if asks_models or proposals is None or budget.caps.seconds is not None:
        return 0.0
    evaluations = budget.remaining("evaluations")
    return math.inf if evaluations is None else evaluations / max(proposals, 1.0)


def spare(budget: BudgetView, *, each: int, asks_models: bool) -> float | None:
    """Return how many evaluations are left when each proposal that the budget still pays for takes `each` of them.

    Infinite where evaluations are free, below 0 where they do not suffice, None where proposals are not what is scarce (see `affordable`).
    """
    proposals = _proposals_left(budget)
    if asks_models or proposals is None or budget.caps.seconds is not None:
        return None
    evaluations = budget.remaining("evaluations")
    return math.inf if evaluations is None else evaluations - each * proposals


def _proposals_left(budget: BudgetView) -> float | None:
    """Return how many calls the budget still pays for, those to come as dear as those made; None where nothing caps them."""
    used, caps = budget.used(), budget.caps
    left: list[float] = []
    for axis in PAID_BY:
        remaining = budget.remaining(axis) if getattr(caps, axis) is not None else None
        spent = getattr(used, axis)
        if remaining is not None and used.llm_calls and spent:
            left.append(remaining * used.llm_calls / spent)
        elif remaining is not None and axis == "llm_calls":
            left.append(remaining)
    return min(left, default=None)


def breadth(budget: Budget, variant: Variant, *sizes: tuple[int | None, int]) -> list[int]:
    """Return how broad a step is in each of its dimensions, each given as what is asked for (None for nothing) and what was published.

    What nobody asked for is as published. Where calls are capped, `budget` narrows that, the first dimension keeping the most, until the
    calls buy `STEPS` steps.
    """
    asked = math.prod(size for size, _ in sizes if size is not None)
    left = math.inf if variant == "paper" or budget.llm_calls is None else budget.llm_calls / STEPS / asked
    found: list[int] = []
    for size, published in sizes:
        narrowed = published if left >= published else max(1, int(left))
        found.append(narrowed if size is None else size)
        left /= narrowed if size is None else 1
    return found


def tested_at_first(budget: Budget, variant: Variant, *, batch: int, most: int) -> int:
    """Return on how many examples a first child is tested: its batch, and as many of `most` others as half of what it affords.

    Where only tokens or USD pay for proposals nobody knows how many before the first, so that all others count.
    """
    if variant == "paper" or budget.seconds is not None:
        return batch
    if budget.llm_calls is None:
        return batch + most if any(getattr(budget, axis) is not None for axis in PAID_BY) else batch
    if budget.evaluations is None:
        return batch + most
    return batch + min(most, max(0, int(budget.evaluations / max(budget.llm_calls, 1) / 2) - batch))
