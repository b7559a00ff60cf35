"""The harmonic mean of BIG-Bench Extra Hard (Kazemi et al. 2025): accuracies are raised by one point, so that none is zero."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import harmonic_mean as mean_of

RAISED = 0.01


def harmonic_mean(scores: Sequence[float], _metrics: Sequence[Mapping[str, float]] = ()) -> float:
    """Return the harmonic mean of accuracies in [0, 1], one a subtask, each raised by 0.01; a mean of ones is 1.01, as the authors'."""
    return mean_of([score + RAISED for score in scores])
