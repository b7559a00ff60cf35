"""Ways to make one number of many kernels' speed-ups."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tracebench_kernelbench.fast import FAST


def geometric_mean(scores: Sequence[float], _metrics: Sequence[Mapping[str, float]]) -> float:
    """Return the geometric mean of the speed-ups of correct kernels, times the share of correct ones.

    Wrong kernels count 0 and would make a plain geometric mean 0, however good the others are.
    """
    right = [score for score in scores if score > 0]
    if not right:
        return 0.0
    return math.exp(math.fsum(map(math.log, right)) / len(right)) * len(right) / len(scores)


def __getattr__(name: str) -> Callable[..., float]:
    if name not in FAST:
        raise AttributeError(f"there is no aggregate `{name}`")
    return partial(_share_above, FAST[name])


def _share_above(p: float, scores: Sequence[float], _metrics: Sequence[Mapping[str, float]]) -> float:
    """Return the share of kernels that are correct and more than `p` times as fast as the reference."""
    return sum(score > p for score in scores) / len(scores) if scores else 0.0
