"""Does what is kept go on measuring the same? Evidence against it, from its own series.

Where measurements of the same files come in no particular order, the rank of the newest among those so far is as likely to be any. Bets on
high or on low ranks then win nothing on average; which of them to hold is a mixture that changes sides now and then (the Simple Jumper of
Vovk et al., 2021, arXiv:2102.10439; Vovk, 2021, "Testing randomness online", Statistical Science 36). A drift, a step and a walk make many
ranks high or low in a row.
"""

from __future__ import annotations

import random

ALARM = 20.0
"""Evidence from which a drift is said: without one it is reached in at most 5 % of runs."""
JUMP = 0.02
"""Share of each side's stake that is spread over all anew before a bet."""
SIDES = (-1.8, 0.0, 1.8)
"""Bets: a stake becomes 1 + side (rank - 1/2) times what it was."""


class Drift:
    """Takes the measurements of what is kept, in their order."""

    def __init__(self, rng: random.Random) -> None:
        """`rng` breaks ties."""
        self._rng = rng
        self._stakes = [1 / len(SIDES)] * len(SIDES)
        self._seen: list[float] = []
        self.evidence = 1.0
        """At present."""
        self.most = 1.0
        """Up to now."""

    def add(self, value: float) -> None:
        """Take the next measurement."""
        self._seen.append(value)
        below, equal = sum(x < value for x in self._seen), sum(x == value for x in self._seen)
        rank = (below + self._rng.random() * equal) / len(self._seen)
        whole = sum(self._stakes)
        mixed = [(1 - JUMP) * stake + JUMP * whole / len(SIDES) for stake in self._stakes]
        self._stakes = [stake * (1 + side * (rank - 0.5)) for stake, side in zip(mixed, SIDES, strict=True)]
        self.evidence = sum(self._stakes)
        self.most = max(self.most, self.evidence)

    def restart(self) -> None:
        """Other files are kept from now on; what is known of the machine stays."""
        self._seen = []

    @property
    def is_seen(self) -> bool:
        """Say whether the series is no longer believed to be in no particular order."""
        return self.most >= ALARM
