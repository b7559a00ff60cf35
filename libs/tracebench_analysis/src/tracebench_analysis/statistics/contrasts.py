"""How far apart two entrants are, with interval and p-value.

On one task from all of its seeds, and over several tasks on a scale that nobody else moves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tracebench_analysis.statistics.intervals import CONFIDENCE, LEAST, Interval, pooled_freedom, variance
from tracebench_analysis.statistics.rounding import ROUNDING, is_rounding, settled, size_of
from tracebench_runs.results.student import cdf, quantile

Scale = Literal["own", "fixed", "standardised"]
"""`own`: of one task, in its units. `fixed`: each task by its declared target or bounds. `standardised`: see `TaskContrast`."""
CORRELATED = 3
"""Common seeds below which a correlation between the two tells nothing."""
_MOST_DEALT = 1000
"""Pairs beyond which the ways to deal them are not told apart: 2 to this power is near the largest double."""


@dataclass(frozen=True, slots=True)
class TaskContrast:
    """One entrant minus another on one task, in the task's units."""

    task: str
    estimate: float
    variance: float | None
    """Of the estimate; None where a score stands alone, which tells of no spread."""
    freedom: float
    paired: int
    """Seeds that both have."""
    unpaired: int
    """Scores of either without a partner."""
    seeds: float
    """As many as a design with equally many for both would have: the harmonic mean."""
    dealings: float
    """In how many ways the scores could have been dealt to the two, had they been equal."""

    def standardised(self) -> TaskContrast:
        """Return the difference as a share of its own size: t / sqrt(t^2 + v), the effect-size correlation r (Rosenthal, 1991).

        1 is a lead by the same amount in every pair, 0 none. It has no unit, and no other entrant moves it. Its variance is that of t
        between equal trainers, (1 - r^2) / v, so that on one task it is Student's test.
        """
        if self.variance is None:
            return replace(self, estimate=math.copysign(1.0, self.estimate) if self.estimate else 0.0)
        size = math.sqrt(self.estimate**2 + self.freedom * self.variance)
        return self.over(size) if size > 0 else self

    def over(self, span: float) -> TaskContrast:
        """Return the difference in parts of a span."""
        spread = None if self.variance is None else self.variance / span**2
        return replace(self, estimate=self.estimate / span, variance=spread)

    def turned(self) -> TaskContrast:
        """Return the other minus the one."""
        return replace(self, estimate=-self.estimate)


@dataclass(frozen=True, slots=True)
class Contrast:
    """The mean of the tasks' differences, tasks weighing alike."""

    tasks: tuple[TaskContrast, ...]
    """On the contrast's scale."""
    scale: Scale
    reach: float | None = None
    """How large a difference can be, where that is known."""

    @property
    def estimate(self) -> float:
        """The mean difference."""
        return math.fsum(t.estimate for t in self.tasks) / len(self.tasks)

    @property
    def error(self) -> float | None:
        """Its standard error over seeds, for these tasks; None where a task tells of no spread."""
        found = [t.variance for t in self.tasks]
        known = [v for v in found if v is not None]
        return math.sqrt(math.fsum(known)) / len(found) if len(known) == len(found) else None

    @property
    def freedom(self) -> int:
        """Degrees of freedom (Satterthwaite, 1946), rounded down: sum(v)^2 / sum(v^2 / f)."""
        parts = [(t.variance, t.freedom) for t in self.tasks if t.variance]
        if not parts:
            return math.floor(self.observed)
        return max(1, math.floor(pooled_freedom(parts) + ROUNDING))

    @property
    def observed(self) -> float:
        """Degrees of freedom of all tasks together."""
        return math.fsum(t.freedom for t in self.tasks)

    @property
    def seeds(self) -> int:
        """Of the task that has fewest."""
        return min((math.floor(t.seeds + ROUNDING) for t in self.tasks), default=0)

    def interval(self, *, confidence: float = CONFIDENCE) -> Interval:
        """Return Student's interval; none where all pairs of every task differ alike, for that is no measured spread unless they are 0."""
        error, n = self.error, sum(2 * t.paired + t.unpaired for t in self.tasks)
        estimate = self.estimate
        if error is None or (error == 0 and estimate != 0):
            return Interval(estimate, None, None, n)
        half = quantile((1 + confidence) / 2, df=self.freedom) * error if error else 0.0
        return self.within(Interval(estimate, estimate - half, estimate + half, n))

    def elsewhere(self, *, confidence: float = CONFIDENCE) -> Interval:
        """Return the interval with the tasks as the sample: for other tasks like these. None for one task, or where nothing varies.

        A random-effects mean in which tasks weigh alike: the variance of the tasks' differences holds that between tasks and that of
        seeds, and Student's t has tasks - 1 degrees of freedom, as Hartung & Knapp (2001, Stat. Med. 20:3875) take it. Few tasks can
        come out alike by chance, so it is never narrower than the interval for these tasks.
        """
        these, k = self.interval(confidence=confidence), len(self.tasks)
        spread = variance([t.estimate for t in self.tasks]) if k >= LEAST else None
        if spread is None or (not spread and not self.error):
            return replace(these, low=None, high=None)
        half = quantile((1 + confidence) / 2, df=k - 1) * math.sqrt(spread / k)
        low, high = these.estimate - half, these.estimate + half
        if these.low is not None and these.high is not None:
            low, high = min(low, these.low), max(high, these.high)
        return self.within(replace(these, low=low, high=high))

    def within(self, interval: Interval) -> Interval:
        """Return an interval without what no difference can be."""
        return interval if self.reach is None else interval.inside(-self.reach, self.reach)

    @property
    def probability(self) -> float | None:
        """Return the two-sided p-value: the probability of a mean at least this far from 0 between equal trainers; None without a spread.

        Differences that are all alike have no standard error: they count by the ways in which the scores could have been dealt to the
        two, all but two of which are less extreme. n equal signs of pairs are a sign test, 2^(1 - n).
        """
        error = self.error
        if error is None:
            return None
        if error == 0:
            apart = [t for t in self.tasks if t.estimate]
            one_sided = len({t.estimate > 0 for t in apart}) == 1
            return min(1.0, 2 / math.prod(t.dealings for t in apart)) if one_sided else 1.0
        return 2 * (1 - cdf(abs(self.estimate) / error, df=self.freedom))

    def equivalence(self, margin: float) -> float | None:
        """Return the probability of a mean this far inside `margin` between entrants that are at least so far apart; None without a spread.

        The larger of two one-sided t tests (Schuirmann, 1987, J. Pharmacokin. Biopharm. 15:657). A task whose pairs all differ alike has
        no error that could be told: were its median elsewhere, its scores would fall on this side of it by a sign test, 2^(-n).
        """
        error, inside = self.error, margin - abs(self.estimate)
        if error is None:
            return None
        alike = max((1 / t.dealings for t in self.tasks if not t.variance), default=0.0)
        if error == 0:
            return min(1.0, alike) if inside > 0 else 1.0
        return max(alike, 1 - cdf(inside / error, df=self.freedom))

    def turned(self) -> Contrast:
        """Return the other minus the one."""
        return replace(self, tasks=tuple(t.turned() for t in self.tasks))


def contrast_task(task: str, one: Mapping[int, float], other: Mapping[int, float]) -> TaskContrast:
    """Return one entrant's scores by seed minus another's, both not empty.

    Seeds that both have are paired; where all are, this is the paired t test, and where none is, Welch's. In between it is the test for
    partially overlapping samples (Derrick, Russ, Toher & White, 2017, J. Mod. Appl. Stat. Methods 16:137), T_new2.
    """
    size = size_of([*one.values(), *other.values()])
    common = [seed for seed in one if seed in other]
    alone = len(one) + len(other) - 2 * len(common)
    seeds = 2 * len(one) * len(other) / (len(one) + len(other))
    dealings = 2.0 ** min(len(common), _MOST_DEALT) * math.comb(alone, len(one) - len(common))
    if alone == 0:
        found = settled([one[seed] - other[seed] for seed in common], size=size)
        spread = variance(found) / len(found) if len(found) >= LEAST else None
        return TaskContrast(task, _mean(found, size), spread, len(found) - 1, len(common), 0, seeds, dealings)
    estimate = _mean([_mean([*one.values()], size) - _mean([*other.values()], size)], size)
    spread, freedom = _overlapping(one, other, common)
    return TaskContrast(task, estimate, spread, freedom, len(common), alone, seeds, dealings)


def contrast(
    tasks: Iterable[TaskContrast], spans: Mapping[str, float], *, widths: Mapping[str, float] | None = None
) -> Contrast | None:
    """Return the mean over tasks; None without one.

    Args:
        tasks: what the two have in common.
        spans: by task, the length of its fixed scale, where it has one.
        widths: by task, how far apart two of its scores can be, where that is known.
    """
    found, wide = [*tasks], widths or {}
    if not found:
        return None
    if len(found) == 1:
        return Contrast(tuple(found), "own", wide.get(found[0].task))
    if all(t.task in spans for t in found):
        reach = [wide[t.task] / spans[t.task] for t in found if t.task in wide]
        known = math.fsum(reach) / len(found) if len(reach) == len(found) else None
        return Contrast(tuple(t.over(spans[t.task]) for t in found), "fixed", known)
    return Contrast(tuple(t.standardised() for t in found), "standardised", 1.0)


def _overlapping(
    one: Mapping[int, float], other: Mapping[int, float], common: Sequence[int]
) -> tuple[float | None, float]:
    """Return the variance of the difference of means, and its degrees of freedom."""
    n, m, both = len(one), len(other), len(common)
    if min(n, m) < LEAST:
        return None, 0.0
    v, w = variance([*one.values()]), variance([*other.values()])
    welch = v / n + w / m
    if welch <= 0:
        return 0.0, float(n + m - 2)
    freedom = pooled_freedom([(v / n, n - 1), (w / m, m - 1)])
    if both < CORRELATED:
        return welch, freedom
    shared = (
        2
        * _correlation([one[s] for s in common], [other[s] for s in common])
        * math.sqrt(v)
        * math.sqrt(w)
        * both
        / (n * m)
    )
    freedom = both - 1 + (freedom - both + 1) / (n + m) * (n + m - 2 * both)
    return max(0.0, welch - shared), freedom


def _correlation(xs: Sequence[float], ys: Sequence[float]) -> float:
    v, w = variance(xs), variance(ys)
    if v == 0 or w == 0:
        return 0.0
    x, y = math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    together = math.fsum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / (len(xs) - 1)
    return max(-1.0, min(1.0, together / math.sqrt(v) / math.sqrt(w)))


def _mean(values: Sequence[float], size: float) -> float:
    found = math.fsum(values) / len(values)
    return 0.0 if is_rounding(found, size=size) else found
