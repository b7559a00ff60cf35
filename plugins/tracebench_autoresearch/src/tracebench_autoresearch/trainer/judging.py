"""Is it better, or is it noise? Rules for keeping an edit, on scores for which higher is better.

`PairedTrial` measures an edit and what it would replace in pairs, each in an order that a coin decides, and keeps it once the evidence of
the pairs (`statistics.evidence`) is what the run demands. So what is kept goes on being measured as long as anything is tried, and neither
drift nor any other shape of the noise makes noise look like a gain. An edit whose evidence is halved is rejected at once; one that has
neither won nor lost after all its pairs is indecisive.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
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
            self._of_kept(score)

    def judge(self, edit: Measure, kept: Measure) -> Ruling:
        """See `Rule`. Measures at most `max_repeats` pairs."""
        if not self._measures:
            return self._first(edit)
        evidence, gains, runs = Evidence(), list[float](), 0
        for left in reversed(range(self._most)):
            scale = self._scale.value
            mine, theirs = self._pair(edit, kept)
            runs += 1
            if mine is None:
                return Ruling(
                    "rejected", "failed" if runs == 1 else f"failed when it was run again, after {runs - 1}", runs
                )
            if theirs is not None:
                gains.append(mine - theirs)
                evidence.add(gains[-1] - self._min_gain, scale)
            if evidence.value >= self._level.needed:
                ruling = Ruling("accepted", self._words(evidence, gains), runs)
                self._level.count_kept()
                self._scale.restart()
                self.drift.restart()
                return ruling
            if evidence.value <= LOST:
                return Ruling("rejected", self._words(evidence, gains), runs)
            if not evidence.can_reach(self._level.needed, pairs=left):
                break
        return Ruling("indecisive", self._words(evidence, gains), runs)

    def _first(self, edit: Measure) -> Ruling:
        """Keep the first that measures at all, where the baseline does not."""
        if (score := edit()) is None:
            return Ruling("rejected", "failed", 1)
        self._of_kept(score)
        return Ruling("accepted", "the first that measures", 1)

    def _pair(self, edit: Measure, kept: Measure) -> tuple[float | None, float | None]:
        if self._rng.random() < 0.5:  # noqa: PLR2004 - a coin
            mine = edit()
            return mine, None if mine is None else self._of_kept(kept())
        theirs = self._of_kept(kept())
        return edit(), theirs

    def _of_kept(self, score: float | None) -> float | None:
        if score is not None:
            self._measures = True
            self._scale.add(score)
            self.drift.add(score)
        return score

    def _words(self, evidence: Evidence, gains: list[float]) -> str:
        gain = f"gain {sum(gains) / len(gains):+.4g}" if gains else "no gain known"
        pairs = f"{len(gains)} pair{'s' if len(gains) != 1 else ''}"
        return f"{gain} in {pairs}, evidence {evidence.value:.3g} of {self._level.needed:.3g}"
