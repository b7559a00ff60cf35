"""Scores of different tasks on one scale: 0 is the initial candidate, 1 the task's target or the best score that was seen."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from tracebench_analysis.statistics.rounding import is_rounding, size_of


@dataclass(frozen=True, slots=True)
class Anchors:
    """Two scores of a task that become 0 and 1."""

    zero: float
    one: float
    source: Literal["target", "best seen", "worst seen", "none"]
    """Where `one` is from; `worst seen` mirrors the worst, where nothing was better than the initial candidate; `none`: all alike."""

    def normalise(self, score: float) -> float:
        """Return the score on the common scale; it may leave 0 to 1 on either side. All scores alike are 0."""
        span, gain = self.one - self.zero, score - self.zero
        return 0.0 if span <= 0 or is_rounding(gain, size=size_of([score, self.zero])) else gain / span


def find_anchors(initial: Iterable[float], scores: Iterable[float], *, target: float | None = None) -> Anchors | None:
    """Return a task's anchors from the initial candidate's scores, all final scores and its declared target; None without a score.

    Where no initial score was measured, the lowest final score stands for 0.
    """
    first, final = list(initial), list(scores)
    if not first and not final:
        return None
    zero = math.fsum(first) / len(first) if first else min(final)
    best, worst = max([zero, *final]), min([zero, *final])
    if target is not None and target > zero:
        return Anchors(zero, target, "target")
    if best > zero:
        return Anchors(zero, best, "best seen")
    if worst < zero:
        return Anchors(zero, 2 * zero - worst, "worst seen")
    return Anchors(zero, zero, "none")
