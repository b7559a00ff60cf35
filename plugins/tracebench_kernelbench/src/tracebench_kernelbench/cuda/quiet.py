"""What the judge's own work tells of a device: whether others work on it, whether its clock drifts, and what handing over takes.

The judge times a gauge, work of a known number of cycles, before and after every call. It takes longer where another process has the device
in between, and longer or shorter where the clock has changed. Nothing of this is on the word of another process.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

_BUSY = 1.25
"""How many times what it takes on a quiet device the gauge must take for somebody else to be at work, who has half of the device: twice."""
_SHARE, _TIMES = 0.1, 3
"""The share of gauges, and how many at least, that must be so: others' work happens once in a while."""
MOST_DRIFT = 0.05
"""How far the clock in one's calls may lie from that in the other's; what lies below it is part of the noise."""
_SPREAD = 0.9


@dataclass(frozen=True, slots=True)
class Handing:
    """Seconds of the judge's own work around a call: what it takes at best, and how far from that it mostly is at most."""

    least: float
    spread: float

    def net(self, whole: float) -> float:
        """Return what is left of a call, no less than can be told."""
        return max(whole - self.least, self.spread, 1e-9)


def handing_of(seconds: Sequence[float]) -> Handing:
    """Return what handing over takes, of calls without work."""
    ordered = sorted(seconds)
    return Handing(ordered[0], ordered[min(int(_SPREAD * len(ordered)), len(ordered) - 1)] - ordered[0])


def is_busy(gauges: Sequence[float], quiet: float) -> bool:
    """Tell whether somebody else works on the device, by what gauges took and what one takes on a quiet device."""
    late = sum(seconds > _BUSY * quiet for seconds in gauges)
    return late >= min(_TIMES, len(gauges)) and late >= _SHARE * len(gauges)


def drift(one: Sequence[float], other: Sequence[float]) -> float:
    """Return by what share the clock beside one's calls differs from that beside the other's; 0 where it is the same."""
    ratio = median(one) / median(other)
    return max(ratio, 1 / ratio) - 1
