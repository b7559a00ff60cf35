"""Amounts on the axes of a budget as ranges, and how caps cut them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from tracebench_core.specs import Axis, Budget, Range

Level = Literal["low", "likely", "high"]
LEVELS: tuple[Level, ...] = get_args(Level)


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

    def cut(self, budget: Budget, *, start: Amounts | None = None) -> tuple[Amounts, Axis | None]:
        """Return what a job uses that stops at its first cap, and the axis of that cap.

        Work beyond `start`, which comes first, is taken to use all axes in proportion. An amount that is not known is at most its cap.
        """
        if start is not None:
            opening, axis = start.cut(budget)
            if axis is not None:
                return opening, axis
        share, first = self._share(budget, start)
        return (self, None) if first is None or share >= 1 else (self._at(share, budget, first, start), first)

    def extended(self, budget: Budget, *, start: Amounts) -> tuple[Amounts, Axis | None]:
        """Return what a job uses that goes on in the same proportions to the first cap that its work spends, and the axis of that cap."""
        share, first = self._share(budget, start)
        return (self, None) if first is None or share < 1 else (self._at(share, budget, first, start), first)

    def joined(self, other: Amounts, choose: Callable[[float, float], float]) -> Amounts:
        """Return what `choose` makes of the two on every axis; what either does not know is not known."""
        pairs = {axis: (getattr(self, axis), getattr(other, axis)) for axis in AXES}
        return Amounts(**{axis: None if None in pair else choose(*pair) for axis, pair in pairs.items()})

    def _share(self, budget: Budget, start: Amounts | None) -> tuple[float, Axis | None]:
        """Return how much of the work beyond `start` the caps allow, and the axis that allows least; None when no cap is being spent."""
        shares: dict[Axis, float] = {}
        for axis, cap in budget.caps().items():
            amount, base = getattr(self, axis, None), _base(start, axis)
            if amount is not None and amount > base:
                shares[axis] = (cap - base) / (amount - base)
        first = min(shares, key=shares.__getitem__, default=None)
        return (1.0 if first is None else shares[first]), first

    def _at(self, share: float, budget: Budget, first: Axis, start: Amounts | None) -> Amounts:
        amounts: dict[Axis, float | None] = {}
        for axis in AXES:
            amount, base = getattr(self, axis), _base(start, axis)
            amounts[axis] = None if amount is None else base + share * (amount - base)
        return Amounts(**{**amounts, first: float(budget.caps()[first])})


AXES: tuple[Axis, ...] = tuple(field.name for field in fields(Amounts))  # type: ignore[misc]  # each is an axis
"""The axes that are foreseen, and on which trainers are compared."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Amounts at the three levels."""

    low: Amounts
    likely: Amounts
    high: Amounts

    def on(self, axis: Axis) -> Range | None:
        """Return one axis as a range, least first: a cap on another axis can end the dear level earlier. None where not known."""
        values: list[Any] = [getattr(getattr(self, level), axis, None) for level in LEVELS]
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


def _base(start: Amounts | None, axis: Axis) -> float:
    return 0.0 if start is None else getattr(start, axis, None) or 0.0


def _sum(values: Iterable[float | None]) -> float | None:
    known: list[float] = []
    for value in values:
        if value is None:
            return None
        known.append(value)
    return math.fsum(known)
