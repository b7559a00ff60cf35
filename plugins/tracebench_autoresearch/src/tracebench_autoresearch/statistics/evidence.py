"""Evidence that one side of pairs in random order is better: an e-process that assumes nothing of the noise.

A coin decides which side of a pair is measured first. Where both sides are the same work, the difference of a pair is as likely to be d as
-d, given its size and all that came before: whatever the distribution of the noise, its drift, its width and its memory, for the coin alone
gives the difference a sign. A bet on the sign then wins nothing on average, and the winnings reach x with a probability of
at most 1/x, however long one looks (Ville, 1939). The bet is tanh(d / s), so that a pair multiplies the evidence by
1 + tanh(d / s) = exp(d / s) / cosh(d / s), at most 2 (de la Peña, 1999; Ramdas, Ruf, Larsson & Koolen, 2020, arXiv:2009.03167). The scale s
is known before the pair: it decides how much is won of a true gain, never whether the evidence is honest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from statistics import median

MOST_BET = 0.98
"""Share of the evidence that a bet may put at stake: beside a scale of 0 one loss would end all."""
FIRST_BET = 0.75
"""The bet while the scale is unknown."""
_TO_DEVIATION = 0.6745
"""Median of the size of a normal deviate."""


class Scale:
    """How far two measurements of the same files are apart: the standard deviation of their difference, by the median of all so far."""

    def __init__(self) -> None:
        self._distances: list[float] = []
        self._last: float | None = None

    def add(self, value: float) -> None:
        """Take the next measurement of the same files."""
        if self._last is not None:
            self._distances.append(abs(value - self._last))
        self._last = value

    def restart(self) -> None:
        """Other files are measured from now on."""
        self._last = None

    @property
    def value(self) -> float | None:
        """In units of the measurements; None while no two are known."""
        return median(self._distances) / _TO_DEVIATION if self._distances else None


class Evidence:
    """The winnings of bets on the signs of pairs that are added one by one; 1 at the start."""

    def __init__(self) -> None:
        self.value = 1.0

    def add(self, difference: float, scale: float | None) -> None:
        """Take a pair's difference, and the scale as it was known before the pair."""
        if scale is None:
            bet = FIRST_BET
        elif scale == 0:
            bet = MOST_BET
        else:
            bet = min(math.tanh(abs(difference) / scale), MOST_BET)
        self.value *= 1 + math.copysign(bet, difference) if difference else 1.0

    def can_reach(self, goal: float, *, pairs: int) -> bool:
        """Say whether so many further pairs could do."""
        return self.value * (1 + MOST_BET) ** pairs >= goal


class RunLevel:
    """The evidence that the next edit of a run needs, so that of all that is kept a share of at most `alpha` changes nothing, on average.

    This is e-LOND (Xu & Ramdas, 2024, arXiv:2311.06412) with the same weight for each of `tests`: the t-th needs
    tests / (alpha (kept before + 1)). It holds under any dependence between the tests. Where no edit changes anything, the share is the
    probability that a run keeps any; and each single one is kept with a probability of at most alpha.
    """

    def __init__(self, *, alpha: float, tests: int) -> None:
        self._alpha, self._tests, self._kept = alpha, tests, 0

    @property
    def needed(self) -> float:
        """The evidence from which the next edit is kept."""
        return self._tests / (self._alpha * (self._kept + 1))

    def count_kept(self) -> None:
        """One more was kept."""
        self._kept += 1


def fewest_pairs(needed: float) -> int:
    """Return how many pairs reach some evidence when all of them are won."""
    return max(1, math.ceil(math.log(needed) / math.log(1 + MOST_BET) - 1e-9))


def sign_flip_probability(differences: list[float]) -> float:
    """Return the exact one-sided probability of a mean as high as this, over all signs of some differences (Fisher, 1935).

    It assumes what the evidence does; of n differences it is at least 2^-n. All signs are counted: up to some 16 differences.
    """
    sizes, seen = [abs(d) for d in differences], math.fsum(differences)
    slack = 1e-12 * math.fsum(sizes)
    return sum(total >= seen - slack for total in _totals(sizes)) / (1 << len(sizes))


def false_share_held(probabilities: Mapping[str, float], alpha: float) -> frozenset[str]:
    """Return those of some hypotheses that may be called false, with a share of at most `alpha` wrongly (Benjamini & Hochberg, 1995)."""
    ranked = sorted(probabilities, key=probabilities.__getitem__)
    most = max((n for n, one in enumerate(ranked, 1) if probabilities[one] <= alpha * n / len(ranked)), default=0)
    return frozenset(ranked[:most])


def _totals(sizes: list[float]) -> Iterator[float]:
    for signs in itertools.product((1.0, -1.0), repeat=len(sizes)):
        yield math.fsum(sign * size for sign, size in zip(signs, sizes, strict=True))
