"""How the scripted model chooses among moves: one that can be seen to help or hurt where there is one, else any."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
LEAST = 1e-9
"""Differences of quality below this are none."""


def better(here: T, nearer: Sequence[T], quality: Callable[[T], float], rng: random.Random) -> T:
    """Return a candidate of those nearer to the optimum: one that scores higher, else any; the same where there is none."""
    if not nearer:
        return here
    mark = quality(here) + LEAST
    return rng.choice([move for move in nearer if quality(move) > mark] or nearer)


def worse(here: T, others: Sequence[T], quality: Callable[[T], float], rng: random.Random) -> T:
    """Return a candidate that scores lower; the same where there is none."""
    mark = quality(here) - LEAST
    return rng.choice([move for move in others if quality(move) < mark] or [here])
