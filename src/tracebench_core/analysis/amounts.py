"""Amounts on the axes of a budget as ranges, and how caps cut them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Literal, get_args

from tracebench_core.specs import Axis, Budget, Range

Level = Literal["low", "likely", "high"]
LEVELS: tuple[Level, ...] = get_args(Level)
AXES: tuple[Axis, ...] = get_args(Axis)


@dataclass(frozen=True, slots=True)
class Amounts:
    """What is used at one level of an estimate; None where it is not known."""

    evaluations: float | None = None
    llm_calls: float | None = None
    tokens: float | None = None
    usd: float | None = None
    seconds: float | None = None

    def scaled(self, factor: float) -> Amounts:
        """Return every amount times `factor`."""
        return self.each(lambda amount: amount * factor)

    def each(self, change: Callable[[float], float]) -> Amounts:
        """Return every known amount changed."""
        return Amounts(**{axis: None if (v := getattr(self, axis)) is None else change(v) for axis in AXES})

    def plus(self, other: Amounts) -> Amounts:
        """Return the sum; what either does not know is not known."""
        return total([self, other])

    def cut(self, budget: Budget) -> tuple[Amounts, Axis | None]:
        """Return what a job uses that stops at its first cap, and the axis of that cap.

        Work is taken to use all axes in proportion. An amount that is not known is at most its cap.
        """
        caps = budget.caps()
        shares: dict[Axis, float] = {}
        for axis, cap in caps.items():
            amount = getattr(self, axis)
            if amount is not None and amount > cap:
                shares[axis] = cap / amount
        first = min(shares, key=shares.__getitem__, default=None)
        return (self if first is None else self.scaled(shares[first])), first


@dataclass(frozen=True, slots=True)
class Estimate:
    """Amounts at the three levels."""

    low: Amounts
    likely: Amounts
    high: Amounts

    def on(self, axis: Axis) -> Range | None:
        """Return one axis as a range, least first: a cap on another axis can end the dear level earlier. None where not known."""
        values = [getattr(getattr(self, level), axis) for level in LEVELS]
        return None if None in values else Range(low=min(values), likely=values[1], high=max(values))

    def each(self, change: Callable[[Amounts], Amounts]) -> Estimate:
        """Return every level changed."""
        return Estimate(*(change(getattr(self, level)) for level in LEVELS))


def total(parts: Sequence[Amounts]) -> Amounts:
    """Return the sum of amounts; an axis that any part does not know is not known."""
    return Amounts(**{field.name: _sum(getattr(part, field.name) for part in parts) for field in fields(Amounts)})


def total_estimate(parts: Sequence[Estimate]) -> Estimate:
    """Return the sum of estimates, level by level."""
    return Estimate(*(total([getattr(part, level) for part in parts]) for level in LEVELS))


def _sum(values: Iterable[float | None]) -> float | None:
    known: list[float] = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return math.fsum(known)
