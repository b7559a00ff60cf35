"""Student's intervals of means over strata: tasks are strata, seeds are drawn inside them.

`strata` is always one sequence of finite scores per task; each task has equal weight, whatever its number of seeds. Scores that only
rounding holds apart have no spread (see `rounding`); differences are settled by whoever subtracts, who knows the scores' size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tracebench_analysis.statistics.rounding import settled, size_of
from tracebench_runs.results.student import quantile

Strata = Sequence[Sequence[float]]
CONFIDENCE = 0.95
LEAST = 2
"""Scores of a stratum below which it tells nothing of its spread."""


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its interval; `low` and `high` are None where the scores tell nothing of their spread."""

    estimate: float
    low: float | None
    high: float | None
    n: int
    """Scores that it stands on, over all strata."""

    def excludes(self, value: float) -> bool:
        """Tell whether a value lies outside."""
        return self.low is not None and self.high is not None and not self.low <= value <= self.high

    def lies_within(self, margin: float) -> bool:
        """Tell whether nothing in it is farther than `margin` from 0."""
        return self.low is not None and self.high is not None and max(-self.low, self.high) <= margin

    def turned(self) -> Interval:
        """Return that of the opposite difference."""
        low, high = self.low, self.high
        return Interval(-self.estimate, None if high is None else -high, None if low is None else -low, self.n)

    def inside(self, low: float | None, high: float | None) -> Interval:
        """Return it without what lies beyond what can be; None is no bound."""
        if self.low is None or self.high is None:
            return self
        below = self.low if low is None else max(low, self.low)
        above = self.high if high is None else min(high, self.high)
        return Interval(self.estimate, below, above, self.n)


@dataclass(frozen=True, slots=True)
class StandardError:
    """The standard error of the mean of the strata's means, and its degrees of freedom."""

    value: float
    freedom: int


def mean_of_means(strata: Strata) -> float:
    """Return the mean over strata of their means.

    Raises:
        ValueError: when there is no stratum, or an empty one.
    """
    if not strata or not all(strata):
        raise ValueError("a mean needs one score of every stratum")
    return math.fsum(math.fsum(s) / len(s) for s in strata) / len(strata)


def standard_error(strata: Strata) -> StandardError | None:
    """Return the standard error over seeds, the tasks being fixed; None when a stratum has one score only.

    The degrees of freedom are Satterthwaite's, rounded down.
    """
    if not strata or any(len(s) < LEAST for s in strata):
        return None
    parts = [(variance(s) / len(s), len(s) - 1) for s in strata]
    error = math.sqrt(math.fsum(v for v, _ in parts)) / len(strata)
    return StandardError(error, max(1, math.floor(pooled_freedom(parts) + 1e-9)))


def pooled_freedom(parts: Sequence[tuple[float, float]]) -> float:
    """Return the degrees of freedom of a sum of variances, each with its own: sum(v)^2 / sum(v^2 / f), or all of them where none varies.

    F. E. Satterthwaite (1946), Biometrics Bulletin 2:110. Variances are taken by the power of two of the largest, so that the square of
    none is beyond what a float holds.
    """
    largest = max(v for v, _ in parts)
    if largest <= 0:
        return math.fsum(f for _, f in parts)
    exponent = -math.frexp(largest)[1]
    scaled = [(math.ldexp(v, exponent), f) for v, f in parts if v]
    total = math.fsum(v for v, _ in scaled)
    return total * total / math.fsum(v * v / f for v, f in scaled)


def t_interval(strata: Strata, *, confidence: float = CONFIDENCE) -> Interval:
    """Return the mean of the strata's means with Student's interval over seeds, for these tasks."""
    estimate, n = mean_of_means(strata), sum(map(len, strata))
    error = standard_error(strata)
    if error is None:
        return Interval(estimate, None, None, n)
    half = quantile((1 + confidence) / 2, df=error.freedom) * error.value
    return Interval(estimate, estimate - half, estimate + half, n)


def variance(scores: Sequence[float]) -> float:
    """Return the sample variance of two scores or more: exactly 0 where rounding alone holds them apart."""
    if len({*settled(scores, size=size_of(scores))}) == 1:
        return 0.0
    mean = math.fsum(scores) / len(scores)
    return math.fsum((score - mean) ** 2 for score in scores) / (len(scores) - 1)
