"""Seeds one after another: stop as soon as the answer is clear, with the error of a single look.

A comparison that is looked at after every seed and stopped when it looks significant finds differences where there are none. With a
greatest number of seeds fixed beforehand, one stricter level for every look (Pocock, 1977, Biometrika 64:191) keeps the error of all
looks together at `alpha`; Student's statistic takes that level as Jennison & Turnbull (2000, section 11.5) do. Fewer looks than
planned only lower the error.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tracebench_analysis.statistics.contrasts import Contrast
from tracebench_analysis.statistics.intervals import Interval
from tracebench_runs.results.student import quantile

FIRST_LOOK = 3
"""Seeds before which nothing is decided."""
FREEDOM = 4
"""Degrees of freedom below which nothing is decided: with fewer the looks are too far from normal for the plan's level to hold."""
STRETCH = 1.5
"""How many times the seeds of a fixed design a sequential one may take."""
_SPACING = 0.05
"""Of the grid on which the sum of differences is followed, in standard deviations of one seed, times the root of the first look."""
_FINE, _COARSER, _COARSEST = 64, 4, 0.2
"""Beyond so many times the first look the spacing is doubled each time that the looks are so many times as many, until it is that wide:
10,000 seeds are planned in a sixth of the time, and a plan's error changes by three in ten thousand of it."""

Array = NDArray[np.float64]
Verdict = Literal["better", "worse", "equivalent", "open", "not resolved"]


@dataclass(frozen=True, slots=True)
class Looks:
    """A plan: a look after every seed from `first` to `most`, each at `level`."""

    first: int
    most: int
    level: float


@dataclass(frozen=True, slots=True)
class Decision:
    """What a look says: `open` asks for more seeds, `not resolved` has no more to ask for."""

    verdict: Verdict
    interval: Interval
    """At the plan's level, so that it holds whenever one stops."""
    seeds: int
    more: int | None
    """Seeds that will likely decide if the mean and spread stay as they are; None when decided, or when the plan's most will not do."""


def plan_looks(most: int, *, first: int = FIRST_LOOK, alpha: float = 0.05) -> Looks:
    """Return the plan for at most so many seeds.

    Raises:
        ValueError: when `most` is below `first`, or `first` below 2.
    """
    if first < 2 or most < first:  # noqa: PLR2004 - a spread needs two
        raise ValueError(f"looks from {first} to {most} seeds: a plan needs at least {max(first, 2)} seeds")
    return Looks(first, most, _level(first, most, alpha))


def decide(found: Contrast, looks: Looks, *, margin: float | None = None) -> Decision:
    """Look at a contrast after equally many seeds on every task.

    `equivalent` when the interval lies within `margin` of 0 on both sides.
    """
    seeds = found.seeds
    interval = found.interval(confidence=1 - looks.level)
    probability = found.probability
    if probability is None or seeds < looks.first or found.observed < FREEDOM:
        missing = math.ceil((FREEDOM - found.observed) / max(1, len(found.tasks)))
        return Decision("open", interval, seeds, max(looks.first - seeds, missing, 1))
    if probability < looks.level:
        return Decision("better" if interval.estimate > 0 else "worse", interval, seeds, None)
    if margin is not None and interval.lies_within(margin):
        return Decision("equivalent", interval, seeds, None)
    if seeds >= looks.most:
        return Decision("not resolved", interval, seeds, None)
    return Decision("open", interval, seeds, _more(found, looks, seeds, margin))


def _more(found: Contrast, looks: Looks, seeds: int, margin: float | None) -> int | None:
    """Return the fewest further seeds whose standard error, shrinking by the root, would decide on the present mean."""
    error, mean = found.error, abs(found.estimate)
    if error is None:
        return None

    def decides(n: int) -> bool:  # as every further seed does then
        freedom = max(1, round(found.freedom * (n - 1) / max(1, seeds - 1)))
        half = quantile(1 - looks.level / 2, df=freedom) * error * math.sqrt(seeds / n)
        return mean > half or (margin is not None and mean + half <= margin)

    more = bisect_left(range(seeds + 1, looks.most + 1), True, key=decides) + 1  # noqa: FBT003 - what is looked for
    return more if seeds + more <= looks.most else None


@lru_cache(maxsize=128)
def _level(first: int, most: int, alpha: float) -> float:
    low, high = NormalDist().inv_cdf(1 - alpha / 2), 6.0
    for _ in range(22):
        middle = (low + high) / 2
        low, high = (middle, high) if crossing(middle, first=first, most=most) > alpha else (low, middle)
    return 2 * (1 - NormalDist().cdf(high))


def crossing(boundary: float, *, first: int, most: int) -> float:
    """Return the probability that |S_n| / sqrt(n) of standard normal steps exceeds `boundary` at some n from `first` to `most`.

    The density of the sum is followed over the looks on a grid (Armitage, McPherson & Rowe, 1969).
    """
    spacing, until = _SPACING * math.sqrt(first), min(most, _FINE * first)
    sums = _grid(boundary * math.sqrt(until), spacing)
    density = np.exp(-(sums**2) / (2 * first)) / math.sqrt(2 * math.pi * first) * spacing
    density = density * _inside(boundary * math.sqrt(first), sums, spacing)
    n = first
    while True:
        reach = math.ceil(6 / spacing)
        kernel = np.exp(-((np.arange(-reach, reach + 1) * spacing) ** 2) / 2)
        kernel /= kernel.sum()
        for n in range(n + 1, until + 1):  # noqa: B020 - it goes on from there
            density = np.convolve(density, kernel)[reach:-reach]
            density = density * _inside(boundary * math.sqrt(n), sums, spacing)
        if until == most:
            return float(1 - density.sum())
        until = min(most, _COARSER * until)
        if spacing < _COARSEST:
            sides = np.pad(density[1::2], 1)
            density, spacing = density[::2] + (sides[:-1] + sides[1:]) / 2, 2 * spacing
        sums = _grid(boundary * math.sqrt(until), spacing)
        density = np.pad(density, (len(sums) - len(density)) // 2)


def _grid(widest: float, spacing: float) -> Array:
    """Return places around 0, every other of which is on the grid of twice the spacing."""
    half = 2 * math.ceil((widest / spacing + 1) / 2)
    return np.arange(-half, half + 1, dtype=np.float64) * spacing


def _inside(boundary: float, sums: Array, spacing: float) -> Array:
    return np.clip((boundary - np.abs(sums)) / spacing + 0.5, 0.0, 1.0)
