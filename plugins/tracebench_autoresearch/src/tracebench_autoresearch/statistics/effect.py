"""How large a difference is, from pairs in random order: the Hodges-Lehmann estimate and its exact interval."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class Effect:
    """A difference in units of the measurements."""

    value: float
    low: float | None
    """Of the interval; None where there are too few pairs for one."""
    high: float | None

    def __str__(self) -> str:
        interval = "" if self.low is None or self.high is None else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.value:.4g}{interval}"


def effect(differences: list[float], *, confidence: float = 0.95) -> Effect:
    """Return the median of the means of any two differences, each with itself, too, and the interval that inverts the signed-rank test.

    It assumes that a difference is spread evenly about the true one, and nothing else (Hodges & Lehmann, 1963): the random order of a pair
    sees to that where one side measures like the other but for a shift.
    There must be a difference; fewer than six allow no interval of 95 %.
    """
    n = len(differences)
    means = sorted((differences[i] + differences[j]) / 2 for i in range(n) for j in range(i, n))
    dropped = _dropped(n, (1 - confidence) / 2)
    middle = float(median(means))
    return Effect(middle, None, None) if dropped is None else Effect(middle, means[dropped], means[-1 - dropped])


def _dropped(n: int, tail: float) -> int | None:
    """Return how many means lie outside of the interval on either side; None where even all of them are too few."""
    counts = [1]
    for rank in range(1, n + 1):
        counts = [
            (counts[total] if total < len(counts) else 0) + (counts[total - rank] if total >= rank else 0)
            for total in range(len(counts) + rank)
        ]
    allowed, reached, dropped = tail * 2**n, 0, -1
    for count in counts:
        if (reached := reached + count) > allowed:
            break
        dropped += 1
    return None if dropped < 0 else dropped
