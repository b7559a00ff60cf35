"""Is it better, or is it noise? Rules for keeping an edit, on scores for which higher is better.

`PairedTrial` measures an edit and what it would replace in pairs, each in an order that a coin decides, and keeps it once the evidence of
the pairs (`statistics.evidence`) is what the run demands. So what is kept goes on being measured as long as anything is tried, and neither
drift nor any other shape of the noise makes noise look like a gain. An edit whose evidence is halved is rejected at once; one that has
neither won nor lost after all its pairs is indecisive.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Literal, Protocol

from tracebench_autoresearch.statistics.drift import Drift
from tracebench_autoresearch.statistics.evidence import Evidence, RunLevel, Scale

Verdict = Literal["accepted", "rejected", "indecisive"]
Measure = Callable[[], float | None]
"""Measures once more; None when it failed."""
LOST = 0.5
"""Evidence from which an edit is rejected."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of an edit, and why."""

    verdict: Verdict
    reason: str
    runs: int
    """Measurements of the edit."""


class Rule(Protocol):
    """Decides edit by edit."""

    def start(self, scores: list[float]) -> None:
        """Take the baseline's scores; none when it does not measure."""
        ...

    def judge(self, edit: Measure, kept: Measure) -> Ruling:
        """Decide on an edit, measuring it and what is kept; an accepted one takes the place of what was kept."""
        ...


class Greedy:
    """Keeps whatever measured better once: the original's rule."""

    def __init__(self, *, min_gain: float = 0.0) -> None:
        self._min_gain = min_gain
        self._kept: float | None = None

    def start(self, scores: list[float]) -> None:
        """See `Rule`."""
        self._kept = scores[0] if scores else None

    def judge(self, edit: Measure, kept: Measure) -> Ruling:
        """See `Rule`."""
        if (score := edit()) is None:
            return Ruling("rejected", "failed", 1)
        if self._kept is None:
            self._kept = score
            return Ruling("accepted", "the first that measures", 1)
        gain = score - self._kept
        if gain > self._min_gain:
            self._kept = score
            return Ruling("accepted", f"measured {gain:+.4g}, once", 1)
        return Ruling("rejected", f"measured {gain:+.4g}, once", 1)


class Contest:
    """The trial of one edit, pair by pair."""

    def __init__(self, scale: Scale, level: RunLevel, *, most: int, min_gain: float) -> None:
        self._scale, self._level, self._most, self._min_gain = scale, level, most, min_gain
        self._evidence, self._gains, self._expected = Evidence(), list[float](), scale.value
        self.runs = 0
        """Pairs that were measured."""

    @property
    def evidence(self) -> float:
        """Of the pairs so far."""
        return self._evidence.value

    @property
    def gain(self) -> float:
        """The median of the pairs so far, by which edits of a race are ranked."""
        return median(self._gains) if self._gains else -math.inf

    def expect(self) -> None:
        """Take the scale as it is known before the next pair."""
        self._expected = self._scale.value

    def add(self, mine: float | None, theirs: float | None) -> Ruling | None:
        """Take a pair; return the ruling once there is one."""
        self.runs += 1
        if mine is None:
            words = "failed" if self.runs == 1 else f"failed when it was run again, after {self.runs - 1}"
            return Ruling("rejected", words, self.runs)
        if theirs is not None:
            self._gains.append(mine - theirs)
            self._evidence.add(self._gains[-1] - self._min_gain, self._expected)
        if self.evidence >= self._level.needed:
            return Ruling("accepted", self.words, self.runs)
        if self.evidence <= LOST:
            return Ruling("rejected", self.words, self.runs)
        if not self._evidence.can_reach(self._level.needed, pairs=self._most - self.runs):
            return self.undecided()
        return None

    def undecided(self, why: str = "") -> Ruling:
        """Return the ruling of an edit that has neither won nor lost."""
        return Ruling("indecisive", "; ".join(filter(None, (self.words, why))), self.runs)

    @property
    def words(self) -> str:
        """What the pairs say."""
        gain = f"gain {sum(self._gains) / len(self._gains):+.4g}" if self._gains else "no gain known"
        pairs = f"{len(self._gains)} pair{'s' if len(self._gains) != 1 else ''}"
        return f"{gain} in {pairs}, evidence {self.evidence:.3g} of {self._level.needed:.3g}"


class PairedTrial:
    """Keeps what wins against what is kept, pair by pair; see the module."""

    def __init__(
        self,
        rng: random.Random,
        *,
        experiments: int,
        false_acceptance: float = 0.05,
        max_repeats: int = 20,
        min_gain: float = 0.0,
    ) -> None:
        """`rng` throws the coins; `experiments` are those that the run may hold."""
        self._rng = rng
        self._level = RunLevel(alpha=false_acceptance, tests=experiments)
        self._most, self._min_gain = max_repeats, min_gain
        self._scale, self._measures = Scale(), False
        self.drift = Drift(rng)

    def start(self, scores: list[float]) -> None:
        """See `Rule`."""
        for score in scores:
            self.of_kept(score)

    @property
    def measures(self) -> bool:
        """Say whether what is kept was ever measured: without that there is nothing to compare with."""
        return self._measures

    def judge(self, edit: Measure, kept: Measure) -> Ruling:
        """See `Rule`. Measures at most `max_repeats` pairs."""
        if not self._measures:
            return self._first(edit)
        contest, ruling = self.contest(), None
        while ruling is None:
            contest.expect()
            ruling = contest.add(*self._pair(edit, kept))
        if ruling.verdict == "accepted":
            self.keep()
        return ruling

    def contest(self) -> Contest:
        """Begin the trial of one edit."""
        return Contest(self._scale, self._level, most=self._most, min_gain=self._min_gain)

    def keep(self) -> None:
        """What was accepted takes the place of what was kept."""
        self._level.count_kept()
        self._scale.restart()
        self.drift.restart()

    def coin(self) -> bool:
        """Say whether the edit comes first in the next pair."""
        return self._rng.random() < 0.5  # noqa: PLR2004 - a coin

    def _first(self, edit: Measure) -> Ruling:
        """Keep the first that measures at all, where the baseline does not."""
        if (score := edit()) is None:
            return Ruling("rejected", "failed", 1)
        self.of_kept(score)
        return Ruling("accepted", "the first that measures", 1)

    def _pair(self, edit: Measure, kept: Measure) -> tuple[float | None, float | None]:
        if self.coin():
            mine = edit()
            return mine, None if mine is None else self.of_kept(kept())
        theirs = self.of_kept(kept())
        return edit(), theirs

    def of_kept(self, score: float | None) -> float | None:
        """Take a measurement of what is kept, and return it."""
        if score is not None:
            self._measures = True
            self._scale.add(score)
            self.drift.add(score)
        return score
