"""Ways to make one number of many kernels' speed-ups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence


def geometric_mean(scores: Sequence[float], _metrics: Sequence[Mapping[str, float]]) -> float:
    """Return the geometric mean of the speed-ups of correct kernels, times the share of correct ones.

    Wrong kernels count 0 and would make a plain geometric mean 0, however good the others are.
    """
    right = [score for score in scores if score > 0]
    if not right:
        return 0.0
    return math.exp(math.fsum(map(math.log, right)) / len(right)) * len(right) / len(scores)


def fast_1(scores: Sequence[float], _metrics: Sequence[Mapping[str, float]]) -> float:
    """Return the share of kernels that are correct and faster than the reference."""
    return sum(score > 1 for score in scores) / len(scores)


def fast_2(scores: Sequence[float], _metrics: Sequence[Mapping[str, float]]) -> float:
    """Return the share of kernels that are correct and more than twice as fast as the reference."""
    return sum(score > 2 for score in scores) / len(scores)  # noqa: PLR2004
