"""What a run says of its trainers, as data: the verdict that `run` and `show` end with, by the words of `compare`."""

from __future__ import annotations

from typing import Literal

from tracebench_core.specs.base import Spec


class PairData(Spec):
    """One entrant against another, over the tasks that both have."""

    one: str
    other: str
    verdict: Literal["better", "worse", "equivalent", "not resolved", "open"]
    """Of `one`."""
    difference: float
    """Mean of `one` less that of `other`."""
    low: float | None
    """Lower end of the 95 % interval; null where no spread was measured."""
    high: float | None
    """Upper end."""
    holm: float | None
    """Two-sided probability between equal entrants, after Holm's correction over all pairs; null where no spread was measured."""
    scale: Literal["own", "fixed", "standardised"]
    """What 1 is: the task's unit, the way from the initial candidate to what tasks declare, or a lead by the same amount in every pair."""


class SettlingData(Spec):
    """What would likely decide between the leader and the first entrant it is not resolved against."""

    one: str
    other: str
    seeds: int
    """Further seeds of every job of the run."""
    usd: float | None
    """What they come to if jobs go on as they did; null where a job's price is not known."""
    seconds: float
    """Likewise, at as many jobs at a time as before."""
    command: str
    """What to type; empty where typing it would not do."""


class Verdict(Spec):
    """The verdict on the entrants of one run."""

    sentence: str
    """Who is better, by how much, how sure it is; or why nothing is said."""
    entrants: tuple[str, ...] = ()
    """Who has scores, in the order of the leaderboard, which needs no difference to be resolved."""
    decided: bool = False
    """Whether every pair of the first of them is."""
    pairs: tuple[PairData, ...] = ()
    next_step: str = ""
    """What would settle what is open, in words."""
    without_scores: tuple[str, ...] = ()
    """Of whom nothing can be said, for none of their jobs has a score."""
    remarks: tuple[str, ...] = ()
    """What weakens the verdict, as `compare` says it."""
    hints: tuple[str, ...] = ()
    """What to type where jobs have no score, with why."""
    settling: SettlingData | None = None
    """The same as data; null where nothing is open, or nothing is known to settle it."""
