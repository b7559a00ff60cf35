"""Many comparisons at once: Holm's correction, ranks over tasks, and the critical difference between mean ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

_NORMAL = NormalDist()
_STEPS = 400
_LOW = -8.0
_STEP = -2 * _LOW / _STEPS


@dataclass(frozen=True, slots=True)
class RankComparison:
    """Mean ranks of k trainers over N tasks, 1 being best, and how far apart two must be."""

    ranks: tuple[float, ...]
    tasks: int
    critical_difference: float
    probability: float
    """Friedman's test: of ranks this uneven when all trainers are equal."""


def holm(probabilities: Sequence[float | None]) -> list[float | None]:
    """Return Holm's adjusted probabilities (1979) in the order given; None, which was not tested, stays None and counts for nothing."""
    known = sorted((p, i) for i, p in enumerate(probabilities) if p is not None)
    adjusted: list[float | None] = [None] * len(probabilities)
    highest = 0.0
    for position, (probability, index) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - position) * probability))
        adjusted[index] = highest
    return adjusted


def ranked(scores: Sequence[float]) -> list[float]:
    """Return the rank of each score, the highest being 1; equal scores share the mean of their ranks."""
    order = sorted(range(len(scores)), key=lambda i: -scores[i])
    ranks = [0.0] * len(scores)
    start = 0
    while start < len(order):
        end = start
        while end + 1 < len(order) and scores[order[end + 1]] == scores[order[start]]:
            end += 1
        for position in order[start : end + 1]:
            ranks[position] = (start + end) / 2 + 1
        start = end + 1
    return ranks


def compare_ranks(table: Sequence[Sequence[float]], *, alpha: float = 0.05) -> RankComparison | None:
    """Compare trainers by their ranks. `table` is tasks x trainers, higher better; None for fewer than two of either.

    Friedman's chi-squared with ties and Nemenyi's critical difference q * sqrt(k (k + 1) / (6 N)) as in Demsar (2006, JMLR 7:1).
    """
    if len(table) < 2 or len(table[0]) < 2:  # noqa: PLR2004 - a rank needs another, a mean too
        return None
    tasks, trainers = len(table), len(table[0])
    by_task = [ranked(row) for row in table]
    means = tuple(math.fsum(column) / tasks for column in zip(*by_task, strict=True))
    ties = math.fsum(_tie_term(row) for row in by_task)
    even = tasks * (trainers + 1) / 2
    top = 12 * math.fsum((tasks * mean - even) ** 2 for mean in means)
    bottom = tasks * trainers * (trainers + 1) - ties / (trainers - 1)
    statistic = top / bottom if bottom > 0 else 0.0
    width = studentised_range(1 - alpha, groups=trainers) / math.sqrt(2)
    critical = width * math.sqrt(trainers * (trainers + 1) / (6 * tasks))
    return RankComparison(means, tasks, critical, chi_squared_tail(statistic, df=trainers - 1))


@lru_cache(maxsize=64)
def studentised_range(p: float, *, groups: int) -> float:
    """Return the `p`-quantile of the range of `groups` independent standard normals."""
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _range_cdf(middle, groups) < p else (low, middle)
    return high


def _range_cdf(width: float, groups: int) -> float:
    """Return P(range <= width): k times the integral of phi(z) (Phi(z + width) - Phi(z))^(k - 1), by Simpson's rule."""
    cdf = _NORMAL.cdf
    total = 0.0
    for z, weighted, below in _points():
        total += weighted * (cdf(z + width) - below) ** (groups - 1)
    return groups * total * _STEP / 3


@lru_cache(maxsize=1)
def _points() -> tuple[tuple[float, float, float], ...]:
    """Return where the integral is taken: z, its weight times phi(z), and Phi(z)."""
    weights = (1, *(4 if i % 2 else 2 for i in range(1, _STEPS)), 1)
    places = [_LOW + i * _STEP for i in range(_STEPS + 1)]
    return tuple((z, weight * _NORMAL.pdf(z), _NORMAL.cdf(z)) for z, weight in zip(places, weights, strict=True))


def chi_squared_tail(x: float, *, df: int) -> float:
    """Return P(X >= x) by the finite series of Abramowitz & Stegun, 26.4.4 and 26.4.5."""
    if x <= 0:
        return 1.0
    half = x / 2
    if df % 2 == 0:
        term = total = 1.0
        for i in range(1, df // 2):
            term *= half / i
            total += term
        return min(1.0, math.exp(-half) * total)
    root = math.sqrt(x)
    total, term = 0.0, root
    for i in range(1, (df + 1) // 2):
        total += term
        term *= x / (2 * i + 1)
    return min(1.0, 2 * (1 - _NORMAL.cdf(root)) + 2 * _NORMAL.pdf(root) * total)


def _tie_term(ranks: Sequence[float]) -> float:
    return math.fsum(n**3 - n for n in (ranks.count(rank) for rank in set(ranks)))
