"""Averages of figures that come from outside: any finite figures have a finite mean, and nothing here raises for what a figure is."""

from __future__ import annotations

import math
from collections.abc import Sequence

LARGEST = 1e150
"""The largest figure that is taken for a measurement: squares of larger ones, which every spread needs, are beyond what a float holds."""


def mean(figures: Sequence[float]) -> float:
    """Return the arithmetic mean, the same on every Python version; of infinite figures it is infinite, or NaN where they cancel."""
    part, scale = _sum(figures)
    return part / len(figures) * scale


def total(figures: Sequence[float]) -> float:
    """Return the sum; infinite where it is beyond what a float holds, NaN where infinite figures cancel."""
    part, scale = _sum(figures)
    return part * scale


def variance(figures: Sequence[float]) -> float:
    """Return the unbiased variance of two or more figures; infinite where it is beyond what a float holds."""
    middle = mean(figures)
    deviations = [figure - middle for figure in figures]
    return total([d * d for d in deviations]) / (len(figures) - 1)  # a power would raise where a product is infinite


def _sum(figures: Sequence[float]) -> tuple[float, float]:
    """Return two factors of the sum; the second is 1 but where the first alone would be beyond what a float holds."""
    try:
        return math.fsum(figures), 1.0
    except OverflowError:
        if beyond := [figure for figure in figures if not math.isfinite(figure)]:
            return _sum(beyond)
        scale = max(map(abs, figures))
        return math.fsum(figure / scale for figure in figures), scale
    except ValueError:  # both infinities
        return math.nan, 1.0
