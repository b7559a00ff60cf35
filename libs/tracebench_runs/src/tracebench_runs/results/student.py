"""Quantiles of Student's t distribution, for intervals of means over few seeds."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from tracebench_core import averages

_SERIES_UP_TO = 400
"""Degrees of freedom summed exactly; beyond, the asymptotic expansion is good to nine digits."""


def cdf(t: float, *, df: int) -> float:
    """Return P(T <= t) for `df` degrees of freedom by the finite series of Abramowitz & Stegun, 26.7.3 and 26.7.4."""
    theta = math.atan(t / math.sqrt(df))
    cos, sin = math.cos(theta), math.sin(theta)
    if df == 1:
        return 0.5 + theta / math.pi
    odd = df % 2
    term = cos if odd else 1.0
    series = term
    for k in range(2 + odd, df - 1, 2):
        term *= cos * cos * (k - 1) / k
        series += term
    central = 2 / math.pi * (theta + sin * series) if odd else sin * series
    return 0.5 + central / 2


@lru_cache(maxsize=256)
def quantile(p: float, *, df: int) -> float:
    """Return the `p`-quantile for `df` degrees of freedom, 0 < p < 1.

    By bisection of `cdf`; for many degrees of freedom by the expansion around the normal quantile, Abramowitz & Stegun, 26.7.5.

    Raises:
        ValueError: when `df` is below 1 or `p` not inside (0, 1).
    """
    if df < 1 or not 0 < p < 1:
        raise ValueError(f"no t quantile for p = {p} and {df} degrees of freedom")
    if df > _SERIES_UP_TO:
        return _expansion(NormalDist().inv_cdf(p), df)
    if p < 0.5:  # noqa: PLR2004 - the median
        return -quantile(1 - p, df=df)
    low, high = 0.0, 1.0
    while cdf(high, df=df) < p:
        high *= 2
    while (middle := (low + high) / 2) not in {low, high}:
        low, high = (middle, high) if cdf(middle, df=df) < p else (low, middle)
    return high


def _expansion(x: float, df: int) -> float:
    terms = (
        (x**3 + x) / 4,
        (5 * x**5 + 16 * x**3 + 3 * x) / 96,
        (3 * x**7 + 19 * x**5 + 17 * x**3 - 15 * x) / 384,
        (79 * x**9 + 776 * x**7 + 1482 * x**5 - 1920 * x**3 - 945 * x) / 92160,
    )
    return x + sum(term / float(df) ** n for n, term in enumerate(terms, start=1))


def interval(scores: list[float], *, confidence: float = 0.95) -> tuple[float, float] | None:
    """Return the two-sided confidence interval of the mean of independent scores; None for fewer than two."""
    n = len(scores)
    if n < 2:  # noqa: PLR2004 - a spread needs two
        return None
    mean = averages.mean(scores)
    half = quantile((1 + confidence) / 2, df=n - 1) * math.sqrt(averages.variance(scores) / n)
    return mean - half, mean + half
