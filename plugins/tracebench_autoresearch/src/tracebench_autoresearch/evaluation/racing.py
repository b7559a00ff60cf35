"""What runs by turns say of a speed-up: when they suffice, what the ratio is, and when the machine is too noisy to say."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median, quantiles

from tracebench_core.contracts import NotMeasured

FEWEST, MOST = 3, 9
"""Rounds of a race; in each, either side runs once."""
STEADY = 0.05
"""A race may end once the initial files' times spread by no more than this: half of the range between their quartiles, over the median."""
TOO_NOISY = 0.15
"""Beyond this spread after `MOST` rounds nothing is measured."""


def is_settled(theirs: Sequence[float]) -> bool:
    """Tell whether a race may end; the initial files do the same work each time: what their times differ by is the machine's doing."""
    return len(theirs) >= MOST or (len(theirs) >= FEWEST and spread(theirs) <= STEADY)


def spread(seconds: Sequence[float]) -> float:
    """Return half of the range between the quartiles of some times, as a share of their median."""
    low, middle, high = quantiles(seconds, n=4, method="inclusive")
    return (high - low) / 2 / middle


def speedup(mine: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median over the rounds of how many times the candidate's processor time (seconds) the initial files took.

    What slows the machine for longer than a round strikes both sides of it, and a round that was struck on one side is outvoted.

    Raises:
        NotMeasured: where the times of the initial files alone are too far apart, so that another attempt may do.
    """
    if (noise := spread(theirs)) > TOO_NOISY:
        raise NotMeasured(
            f"The machine is too noisy to time anything: the initial files, the same work each time, took {min(theirs):.3g} to "
            f"{max(theirs):.3g} s of processor time in {len(theirs)} runs; ± {noise:.0%} was seen, ± {TOO_NOISY:.0%} is needed."
        )
    return median(b / a for a, b in zip(mine, theirs, strict=True))
