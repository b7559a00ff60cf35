"""How small a difference between two trainers a number of seeds can tell, and how many seeds a smaller one takes.

Before a run: two independent groups of equally many seeds, compared by a two-sided t test. With the standard deviation s of a score over
seeds, the smallest difference that is found with the wished power is (t[1 - alpha/2, v] + t[power, v]) * s * sqrt(2/n), v = 2n - 2
(J. H. Zar, Biostatistical Analysis, 5th ed., eq. 8.24). The central t quantiles make it exact to about 1 % from 5 seeds on. After a
run: the same for differences that are paired by task and seed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from tracebench_analysis.statistics.intervals import variance
from tracebench_runs.results.student import quantile

ALPHA = 0.05
POWER = 0.8
MOST_SEEDS = 100_000
FEWEST = 2
"""Seeds below which there is no spread to compare with."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard deviation of a score over seeds, pooled over groups of jobs that differ in their seed alone."""

    deviation: float
    freedom: int
    """Degrees of freedom that it stands on."""


def smallest_difference(seeds: int, *, alpha: float = ALPHA, power: float = POWER) -> float | None:
    """Return the smallest difference that so many seeds per trainer can resolve, in standard deviations; None for fewer than two."""
    if seeds < FEWEST:
        return None
    freedom = 2 * seeds - 2
    return (quantile(1 - alpha / 2, df=freedom) + quantile(power, df=freedom)) * math.sqrt(2 / seeds)


def seeds_to_resolve(difference: float, *, alpha: float = ALPHA, power: float = POWER) -> int | None:
    """Return the fewest seeds per trainer that resolve a difference, given in standard deviations; None above 100,000.

    Raises:
        ValueError: when the difference is not positive.
    """
    guess = _expected(difference, 2.0, 2.0, alpha, power)
    return _fewest(difference, lambda seeds: smallest_difference(seeds, alpha=alpha, power=power), guess)


def pooled_spread(groups: Iterable[Sequence[float]]) -> Spread | None:
    """Return the pooled standard deviation of groups of scores; None when no group has two, or all are alike.

    Scores that never vary tell of no spread: how far the next one may lie is not known.
    """
    several = [scores for scores in groups if len(scores) >= FEWEST]
    freedom = sum(len(scores) - 1 for scores in several)
    squares = math.fsum(variance(scores) * (len(scores) - 1) for scores in several)
    return Spread(math.sqrt(squares / freedom), freedom) if squares > 0 else None


def smallest_paired_difference(
    seeds: int, *, tasks: int = 1, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Return the smallest mean difference that so many seeds on each of so many tasks resolve; None for fewer than two seeds.

    In standard deviations of one paired difference: (t[1 - alpha/2, v] + t[power, v]) / sqrt(N), N = tasks * seeds pairs and
    v = N - tasks (Zar, eq. 7.10, with the tasks' own means taken out).
    """
    if seeds < FEWEST or tasks < 1:
        return None
    freedom = tasks * (seeds - 1)
    width = quantile(1 - alpha / 2, df=freedom) + quantile(power, df=freedom)
    return width / math.sqrt(tasks * seeds)


def paired_seeds_to_resolve(
    difference: float, *, tasks: int = 1, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """Return the fewest seeds on each task that resolve a mean difference in standard deviations of one paired difference.

    None above 100,000.

    Raises:
        ValueError: when the difference is not positive.
    """
    guess = _expected(difference, 1 / tasks, tasks, alpha, power)
    return _fewest(
        difference, lambda seeds: smallest_paired_difference(seeds, tasks=tasks, alpha=alpha, power=power), guess
    )


def _expected(difference: float, spread: float, freedom: float, alpha: float, power: float) -> float:
    """Return about how many seeds resolve a difference: by normal quantiles, and the first term of Student's expansion around them.

    `spread` is the variance of the estimate and `freedom` the degrees of freedom that a seed adds.
    """
    if difference <= 0:
        raise ValueError(f"a difference to resolve is positive, not {difference}")
    quantiles = [NormalDist().inv_cdf(1 - alpha / 2), NormalDist().inv_cdf(power)]
    width = math.fsum(quantiles)
    return (width / difference) ** 2 * spread + math.fsum(z**3 + z for z in quantiles) / (2 * width * freedom)


def _fewest(difference: float, resolved_by: Callable[[int], float | None], guess: float) -> int | None:
    """Return the fewest seeds at which what they resolve is no larger than the difference; it shrinks with every seed."""

    def is_enough(seeds: int) -> bool:
        found = resolved_by(seeds)
        return found is not None and found <= difference

    low, step = max(FEWEST, min(math.ceil(guess), MOST_SEEDS)) - 1, 1
    high = low + 1
    while not is_enough(high):
        if high == MOST_SEEDS:
            return None
        low, high, step = high, min(high + step, MOST_SEEDS), 2 * step
    while low >= FEWEST and is_enough(low):
        low, high, step = max(FEWEST - 1, low - step), low, 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high
