"""The noise floor: how far apart two equal trainers come out, and how small a difference the design resolves."""

from __future__ import annotations

import math
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from tracebench_analysis.statistics.contrasts import Contrast
from tracebench_analysis.statistics.differences import Scores
from tracebench_analysis.statistics.intervals import Interval, t_interval
from tracebench_analysis.statistics.resolution import ALPHA, paired_seeds_to_resolve, smallest_paired_difference
from tracebench_analysis.statistics.rounding import is_rounding, size_of

UNCHANGING = "NoOp"
"""The trainer that changes nothing: its scores vary with the measurement alone."""
REFERENCES = (UNCHANGING, "RandomSearch")
"""Trainers of the core that are shown as the floor where they took part."""
SPLITS = 400
FEWEST = 4
"""Seeds below which halves tell nothing."""


@dataclass(frozen=True, slots=True)
class NoiseFloor:
    """How much of a difference is noise, on the scale of the scores given."""

    split: float | None
    """95 % of A/A comparisons (one half of an entrant's seeds against the other, scaled to all seeds) come out closer than this.
    None with fewer than four seeds everywhere."""
    bands: Mapping[str, Interval]
    """The interval of each reference trainer that took part."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the design of one comparison can tell, from the spread of its paired differences."""

    deviation: float
    """Of one paired difference, tasks' own means taken out."""
    smallest: float | None
    """The smallest mean difference found with 80 % power."""
    seeds_needed: int | None
    """Seeds per task at which the difference that was seen would be found with that power; None above 100,000 or without one."""


def noise_floor(entrants: Mapping[str, Scores], *, references: Collection[str] = REFERENCES) -> NoiseFloor:
    """Return the floor from every entrant's scores by task and seed; `references`: who of them has an interval of its own.

    The splits are drawn from a fixed seed.
    """
    rng = random.Random(0)  # noqa: S311 - a resampling scheme
    varying = [scores for scores in entrants.values() if any(len({*s.values()}) > 1 for s in scores.values())]
    distances = [d for scores in varying or entrants.values() for d in _split_distances(scores, rng)]
    distances.sort()
    split = distances[math.ceil(0.95 * len(distances)) - 1] if distances else None
    bands = {
        name: t_interval([[*seeds.values()] for seeds in scores.values()])
        for name, scores in entrants.items()
        if name in references and scores
    }
    return NoiseFloor(split, bands)


def resolution_of(found: Contrast, *, alpha: float = ALPHA) -> Resolution | None:
    """Return what a contrast's design can tell at level `alpha`, on its scale; None when it tells of no spread."""
    if not found.error or found.observed <= 0:
        return None
    tasks, difference = len(found.tasks), found.estimate
    squares = math.fsum(t.freedom * t.seeds * (t.variance or 0.0) for t in found.tasks)
    deviation = math.sqrt(squares / found.observed)
    seeds = round(math.fsum(t.seeds for t in found.tasks) / tasks)
    unit = smallest_paired_difference(seeds, tasks=tasks, alpha=alpha)
    needed = None
    if difference != 0:
        needed = paired_seeds_to_resolve(abs(difference) / deviation, tasks=tasks, alpha=alpha)
    return Resolution(deviation, None if unit is None else unit * deviation, needed)


def _split_distances(scores: Scores, rng: random.Random) -> list[float]:
    """Return distances between random halves of an entrant's seeds, as they would be between two groups of all its seeds."""
    tasks = [[*seeds.values()] for seeds in scores.values() if len(seeds) >= FEWEST]
    if not tasks:
        return []
    found = []
    size = size_of(value for values in tasks for value in values)
    for _ in range(SPLITS):
        parts = []
        for values in tasks:
            drawn = _shuffled(values, rng)
            half = len(drawn) // 2
            parts.append(math.fsum(drawn[-half:]) / half - math.fsum(drawn[-2 * half : -half]) / half)
        distance = abs(math.fsum(parts) / len(parts)) / math.sqrt(2)
        found.append(0.0 if is_rounding(distance, size=size) else distance)
    return found


def _shuffled(values: Sequence[float], rng: random.Random) -> list[float]:
    """Return `rng.sample(values, len(values))` from its end to its beginning, in a third of the time.

    Numbers of as many bits as the largest index are drawn until one is an index.
    """
    drawn, bits = [*values], rng.getrandbits
    left = len(drawn)
    while left:
        width = left.bit_length()
        least = 1 << width - 1
        for last in range(left - 1, least - 2, -1):
            while (chosen := bits(width)) > last:
                pass
            drawn[last], drawn[chosen] = drawn[chosen], drawn[last]
        left = least - 1
    return drawn
