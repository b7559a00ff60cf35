"""Which gains a trial of so many experiments can tell: by the rule itself, on noise as wide as was measured."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from statistics import stdev

from tracebench_autoresearch.trainer.judging import PairedTrial

_EDITS = 200
_SHARE = 0.8
_GAINS = (0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 5.0)
"""In standard deviations of one measurement."""


def smallest_gain(baselines: Sequence[float], *, experiments: int) -> float:
    """Return the smallest gain, in units of the metric, of which four in five are kept as the first of a run; 0 without any
    noise, and infinity where none is.

    The noise is normal, as wide as the baselines are spread; there must be two.
    """
    spread = stdev(baselines)
    return spread * next((gain for gain in _GAINS if _kept(gain, experiments) >= _SHARE), math.inf) if spread else 0.0


def _kept(gain: float, experiments: int) -> float:
    kept = 0
    for seed in range(_EDITS):
        rng = random.Random(seed)  # noqa: S311 - a simulation
        rule = PairedTrial(rng, experiments=experiments)
        rule.start([rng.gauss(0, 1) for _ in range(4)])
        ruling = rule.judge(lambda rng=rng: rng.gauss(gain, 1), lambda rng=rng: rng.gauss(0, 1))  # type: ignore[misc]
        kept += ruling.verdict == "accepted"
    return kept / _EDITS
