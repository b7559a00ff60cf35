"""Two entrants compared: how far apart they are, and how probable it is that one of them scores higher."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracebench_analysis.statistics.contrasts import Contrast, Scale, TaskContrast, contrast, contrast_task
from tracebench_analysis.statistics.intervals import CONFIDENCE, Interval
from tracebench_analysis.statistics.rounding import rounding_of, size_of

Scores = Mapping[str, Mapping[int, float]]
"""By task, then by seed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One entrant minus another over the tasks that both have; positive where the first is better."""

    contrast: Contrast
    interval: Interval
    """Of the mean over tasks: for these tasks, other seeds."""
    elsewhere: Interval
    """The same with tasks as the sample: for other tasks like these. One task tells of no others."""
    probability: float | None
    """Two-sided, of a difference this large between equal trainers; None where there is no spread to judge by."""
    tasks: tuple[TaskContrast, ...]
    """Every task's own difference, in its own units."""

    @property
    def scale(self) -> Scale:
        """What one unit of the difference is."""
        return self.contrast.scale

    @property
    def paired(self) -> int:
        """Pairs of a seed that both have."""
        return sum(t.paired for t in self.tasks)

    @property
    def unpaired(self) -> int:
        """Scores of either without a partner; they count, too."""
        return sum(t.unpaired for t in self.tasks)

    def turned(self) -> Difference:
        """Return the other minus the one."""
        return Difference(
            self.contrast.turned(),
            self.interval.turned(),
            self.elsewhere.turned(),
            self.probability,
            tuple(t.turned() for t in self.tasks),
        )


def compare_scores(
    one: Scores,
    other: Scores,
    *,
    spans: Mapping[str, float] | None = None,
    widths: Mapping[str, float] | None = None,
    confidence: float = CONFIDENCE,
) -> Difference | None:
    """Compare two entrants by their own scores alone; None when they have no task in common.

    `spans` and `widths` are those of `contrasts.contrast`.
    """
    tasks = [contrast_task(task, one[task], other[task]) for task in one if one[task] and other.get(task)]
    found = contrast(tasks, spans or {}, widths=widths)
    if found is None:
        return None
    return Difference(
        contrast=found,
        interval=found.interval(confidence=confidence),
        elsewhere=found.elsewhere(confidence=confidence),
        probability=found.probability,
        tasks=tuple(tasks),
    )


def probability_of_improvement(one: Scores, other: Scores) -> float | None:
    """Return P(one > other) + P(equal) / 2 for a random seed of each, averaged over common tasks (arXiv:2108.13264, section 4.3)."""
    tasks = [task for task, seeds in one.items() if seeds and other.get(task)]
    if not tasks:
        return None
    return math.fsum(_wins([*one[t].values()], [*other[t].values()]) for t in tasks) / len(tasks)


def _wins(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the share of pairs that the first wins, equals half; sorted first, so that no pair is looked at by itself."""
    reach, below = rounding_of(size_of([*one, *other])), sorted(other)
    wins = sum(bisect_left(below, score - reach) + bisect_right(below, score + reach) for score in one)
    return wins / (2 * len(one) * len(other))
