"""Best-so-far curves on one axis: steps resampled to a common grid, their area, and when targets were reached."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from tracebench_analysis.statistics.intervals import Interval, t_interval


@dataclass(frozen=True, slots=True)
class Curve:
    """The best score of one job as steps: from `xs[i]` on it is `ys[i]`, up to `end`, where the job stopped."""

    xs: tuple[float, ...]
    """Used of the axis, not falling."""
    ys: tuple[float, ...]
    end: float

    def at(self, x: float) -> float | None:
        """Return the best score once `x` was used; None before the first. Beyond `end` the last one is carried on."""
        position = bisect_right(self.xs, x)
        return self.ys[position - 1] if position else None

    def reached(self, target: float) -> float | None:
        """Return what was used when the score was first at least `target`; None when it never was."""
        return next((x for x, y in zip(self.xs, self.ys, strict=True) if y >= target), None)


@dataclass(frozen=True, slots=True)
class BandPoint:
    """Curves at one point of the grid."""

    x: float
    interval: Interval
    """Of the mean over tasks of the mean over seeds."""
    carried: float
    """Share of the curves whose job had stopped before: those are flat from there on because nothing more was spent."""


def grid(curves: Sequence[Curve], *, points: int = 60, most: float | None = None) -> list[float]:
    """Return `points` evenly spaced positions up to where the last curve ends, or to `most`, the first being the end of the first step."""
    end = most if most is not None else max((c.end for c in curves), default=0.0)
    return [end * i / points for i in range(1, points + 1)] if end > 0 else [0.0]


def band(tasks: Sequence[Sequence[Curve]], positions: Sequence[float]) -> list[BandPoint]:
    """Return the mean of curves with Student's interval at every position where all of them have begun; `tasks` is tasks x seeds."""
    found = []
    everyone = [curve for curves in tasks for curve in curves]
    for x in positions:
        strata = [[y for curve in curves if (y := curve.at(x)) is not None] for curves in tasks]
        if not everyone or sum(map(len, strata)) < len(everyone):
            continue
        ended = sum(curve.end < x for curve in everyone)
        found.append(BandPoint(x, t_interval(strata), ended / len(everyone)))
    return found


def area(curve: Curve, *, most: float, initial: float) -> float:
    """Return the mean height of a curve from 0 to `most`, `initial` before its first step: its area under the curve over `most`."""
    if most <= 0:
        return _or(curve.at(0.0), initial)
    edges = [0.0, *(x for x in curve.xs if 0 < x < most), most]
    heights = [_or(curve.at(x), initial) for x in edges[:-1]]
    return math.fsum((b - a) * y for a, b, y in zip(edges, edges[1:], heights, strict=False)) / most


def reached_share(
    curves: Sequence[Curve], targets: Sequence[Sequence[float]], positions: Sequence[float]
) -> list[float]:
    """Return the share of (curve, target) pairs reached at each position: the runtime ECDF of COCO. `targets` has one row per curve."""
    hits = sorted(
        hit
        for curve, own in zip(curves, targets, strict=True)
        for target in own
        if (hit := curve.reached(target)) is not None
    )
    pairs = sum(map(len, targets))
    return [bisect_right(hits, x) / pairs if pairs else 0.0 for x in positions]


def performance_profile(strata: Sequence[Sequence[float]], thresholds: Sequence[float]) -> list[float]:
    """Return the share of scores above each threshold, every task weighing alike (arXiv:2108.13264, section 4.2)."""
    return [
        math.fsum(sum(score > tau for score in scores) / len(scores) for scores in strata) / len(strata)
        for tau in thresholds
    ]


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
