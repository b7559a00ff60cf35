"""What a claim is held against: an interval inside its region confirms it, one outside refutes it at this setting."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Literal

from tracebench_open.bench.alone.sums import LEAST, beta_share, mean_of

CONFIDENCE = 0.95
Verdict = Literal["confirmed", "not resolved", "refuted at this setting"]
Row = Mapping[str, str | int | float | None]


@dataclass(frozen=True, slots=True)
class Found:
    """What asking again has found. An end that is None is open: nothing bounds it there."""

    estimate: float | Fraction
    low: float | Fraction | None
    high: float | Fraction | None
    told: Sequence[str] = ()
    """What belongs beside the figure, in sentences."""
    rows: Sequence[Row] = ()
    """A table of what it follows from, the same columns in each row."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of what the authors' programs ran with."""


def verdict_of(found: Found, at_least: Fraction | None, at_most: Fraction | None, *, above: bool = False) -> Verdict:
    """Return how an interval stands to a region, whose ends belong to it; with `above` its lower end does not."""
    low = -math.inf if found.low is None else found.low
    high = math.inf if found.high is None else found.high
    under, over = -math.inf if at_least is None else at_least, math.inf if at_most is None else at_most
    if (low > under if above else low >= under) and high <= over:
        return "confirmed"
    if (high <= under if above else high < under) or low > over:
        return "refuted at this setting"
    return "not resolved"


def exactly(value: Fraction, **more: Any) -> Found:
    """Return a figure that is arithmetic, and so has no interval but itself."""
    return Found(value, value, value, **more)


def mean(values: Sequence[float], **more: Any) -> Found:
    """Return a mean with Student's interval."""
    told = mean_of(values)
    return Found(told["estimate"], told["low"], told["high"], **more)


def share(hits: int, of: int) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson for a share, 95 % at the least, by bisection."""

    def where(goal: float, a: float, b: float) -> float:
        low, high = 0.0, 1.0
        for _ in range(100):
            middle = (low + high) / 2
            low, high = (middle, high) if beta_share(middle, a, b) < goal else (low, middle)
        return (low + high) / 2

    tail = (1 - CONFIDENCE) / 2
    return (
        0.0 if hits == 0 else where(tail, hits, of - hits + 1),
        1.0 if hits == of else where(1 - tail, hits + 1, of - hits),
    )


def median(values: Sequence[float], **more: Any) -> Found:
    """Return a median with the interval that order statistics give whatever the distribution; open for fewer than six."""
    ordered, n = sorted(values), len(values)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    below, rank = math.comb(n, 0) / 2**n, 0
    while below <= (1 - CONFIDENCE) / 2:
        rank += 1
        below += math.comb(n, rank) / 2**n
    return Found(middle, ordered[rank - 1] if rank else None, ordered[n - rank] if rank else None, **more)


def paired(won: int, lost: int, of: int, **more: Any) -> Found:
    """Return the difference of two shares over the same items, with the exact interval that goes with McNemar's exact test.

    Of the items on which the two differ, a share was won; the items on which they do not differ tell nothing of it.
    """
    differing = won + lost
    if differing == 0:
        return Found(0.0, None, None, **more)
    low, high = (differing * (2 * end - 1) / of for end in share(won, differing))
    return Found((won - lost) / of, low, high, **more)


def clustered(differences: Sequence[float], **more: Any) -> Found:
    """Return a mean of one difference for each task; fewer than two tell of no spread."""
    if len(differences) < LEAST:
        return Found(math.fsum(differences) / len(differences), None, None, **more)
    return mean(differences, **more)
