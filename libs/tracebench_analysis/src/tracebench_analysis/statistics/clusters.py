"""Questions that come in clusters, such as several about one text: their errors add up, and the standard error has to say so."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence

from tracebench_analysis.statistics.intervals import LEAST, StandardError
from tracebench_analysis.statistics.rounding import is_rounding, size_of


def clustered_error(values: Sequence[float], clusters: Sequence[Hashable]) -> StandardError | None:
    """Return the standard error of a mean, clusters being drawn; None for fewer than two clusters.

    sqrt(G / (G - 1) * sum over clusters of (sum of the deviations)^2) / n with G - 1 degrees of freedom: Miller (2024, arXiv:2411.00640,
    appendix A) with the correction for finitely many clusters. Where each value is its own cluster it is s / sqrt(n).
    """
    if (count := len({*clusters})) < LEAST:
        return None
    mean = math.fsum(values) / len(values)
    sums: dict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster].append(value - mean)
    size = size_of(values)
    off = [math.fsum(found) for found in sums.values()]
    if all(is_rounding(o, size=size) for o in off):
        return StandardError(0.0, count - 1)
    squares = math.fsum(o * o for o in off)
    return StandardError(math.sqrt(squares * count / (count - 1)) / len(values), count - 1)


def mcnemar(won: int, lost: int) -> float:
    """Return the two-sided probability of a split of the discordant pairs at least this uneven between equals: McNemar's exact test."""
    n, fewer = won + lost, min(won, lost)
    whole = math.lgamma(n + 1) - n * math.log(2)
    tail = math.fsum(math.exp(whole - math.lgamma(k + 1) - math.lgamma(n - k + 1)) for k in range(fewer + 1))
    return min(1.0, 2 * tail)
