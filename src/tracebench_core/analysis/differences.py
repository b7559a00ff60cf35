"""Two trainers compared: differences paired by task and seed, and how probable an improvement is."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracebench_core.analysis.intervals import Interval, clustered_interval, t_interval, t_probability
from tracebench_core.analysis.rounding import settled, size_of

Scores = Mapping[str, Mapping[int, float]]
"""By task, then by seed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One trainer minus another over the tasks and seeds that both have; positive where the first is better."""

    interval: Interval
    """Of the mean over tasks of the mean over seeds: for these tasks, other seeds."""
    elsewhere: Interval
    """The same with tasks as the sample: for other tasks like these."""
    probability: float | None
    """Two-sided, of a difference this large between equal trainers; None where there is no spread to judge by."""
    pairs: tuple[tuple[float, ...], ...]
    """The differences of every task."""
    unpaired: int
    """Scores of either without a partner, which are left out."""


def paired_differences(one: Scores, other: Scores) -> tuple[dict[str, tuple[float, ...]], int]:
    """Return the differences by task in the order of `one`, seeds in order, and how many scores have no partner.

    What rounding alone holds apart, measured by the scores that are subtracted, is made equal.
    """
    found: dict[str, tuple[float, ...]] = {}
    unpaired = sum(len(seeds) for task, seeds in other.items() if task not in one)
    for task, seeds in one.items():
        theirs = other.get(task, {})
        common = [seed for seed in seeds if seed in theirs]
        unpaired += len(seeds) + len(theirs) - 2 * len(common)
        if common:
            size = size_of([*seeds.values(), *theirs.values()])
            found[task] = settled([seeds[seed] - theirs[seed] for seed in common], size=size)
    return found, unpaired


def compare_scores(one: Scores, other: Scores, *, confidence: float = 0.95) -> Difference | None:
    """Compare two trainers; None when they have no task and seed in common."""
    by_task, unpaired = paired_differences(one, other)
    if not by_task:
        return None
    strata = tuple(by_task.values())
    return Difference(
        interval=_of_equal_pairs(strata, confidence),
        elsewhere=clustered_interval(strata, confidence=confidence),
        probability=t_probability(strata),
        pairs=strata,
        unpaired=unpaired,
    )


def probability_of_improvement(one: Scores, other: Scores) -> float | None:
    """Return P(one > other) + P(equal) / 2 for a random seed of each, averaged over common tasks (arXiv:2108.13264, section 4.3)."""
    tasks = [task for task, seeds in one.items() if seeds and other.get(task)]
    if not tasks:
        return None
    return math.fsum(_wins([*one[t].values()], [*other[t].values()]) for t in tasks) / len(tasks)


def _wins(one: Sequence[float], other: Sequence[float]) -> float:
    wins = sum((a > b) + 0.5 * (a == b) for a in one for b in other)
    return wins / (len(one) * len(other))


def _of_equal_pairs(strata: Sequence[Sequence[float]], confidence: float) -> Interval:
    """Return Student's interval; none where all pairs of every task differ alike, for that is no measured spread unless they are 0."""
    found = t_interval(strata, confidence=confidence)
    if found.low == found.high and found.estimate != 0:
        return Interval(found.estimate, None, None, found.n)
    return found
