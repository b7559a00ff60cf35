"""Is it better, or is it noise? Rules for keeping an edit, on scores for which higher is better.

`NoiseAware` is a group-sequential one-sided t test. The edit is measured again, in turns with what it would replace, while its mean is
ahead; the looks share the probability of a false acceptance (half of it goes to the last look), and the noise is pooled over everything
that was measured more than once. An edit that falls behind is rejected at once; one that stays ahead without standing out is indecisive.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from tracebench_engine.api.analysis import student_cdf as cdf

Verdict = Literal["accepted", "rejected", "indecisive"]
Measure = Callable[[], float | None]
"""Measures once more; None when it failed."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What becomes of an edit, and why."""

    verdict: Verdict
    reason: str
    runs: int
    """Measurements of the edit."""


class Rule(Protocol):
    """Decides edit by edit; knows the scores of what is kept."""

    def start(self, scores: Sequence[float]) -> None:
        """Take the baseline's scores; none when it does not measure."""
        ...

    def judge(self, first: float, again: Measure, again_kept: Measure) -> Ruling:
        """Decide on an edit that measured `first`; an accepted one takes the place of what was kept."""
        ...


class Greedy:
    """Keeps whatever measured better once: the original's rule."""

    def __init__(self, *, min_gain: float = 0.0) -> None:
        self._min_gain = min_gain
        self._kept: float | None = None

    def start(self, scores: Sequence[float]) -> None:
        """See `Rule`."""
        self._kept = scores[0] if scores else None

    def judge(self, first: float, again: Measure, again_kept: Measure) -> Ruling:
        """See `Rule`."""
        if self._kept is None:
            self._kept = first
            return Ruling("accepted", "the first that measures", 1)
        gain = first - self._kept
        if gain > self._min_gain:
            self._kept = first
            return Ruling("accepted", f"measured {gain:+.4g}, once", 1)
        return Ruling("rejected", f"measured {gain:+.4g}, once", 1)


class NoiseAware:
    """Keeps what stands out from the noise; see the module."""

    def __init__(self, *, alpha: float = 0.05, max_repeats: int = 5, min_gain: float = 0.0) -> None:
        self._looks = _shares(alpha, max_repeats)
        self._min_gain = min_gain
        self._groups: list[list[float]] = []
        self._kept: list[float] = []
        self._enough = 3 * max_repeats

    def start(self, scores: Sequence[float]) -> None:
        """See `Rule`."""
        self._kept = list(scores)
        self._groups.append(self._kept)

    def judge(self, first: float, again: Measure, again_kept: Measure) -> Ruling:
        """See `Rule`. Measures the edit at most `max_repeats` times, and what is kept as often beside it, until that is well known."""
        scores = [first]
        self._groups.append(scores)
        if not self._kept:
            self._kept = scores
            return Ruling("accepted", "the first that measures", 1)
        for look, share in enumerate(self._looks):
            if look:
                if (more := again()) is None:
                    return Ruling("rejected", f"failed when it was run again, after {len(scores)}", len(scores))
                scores.append(more)
                if len(self._kept) < self._enough and (other := again_kept()) is not None:
                    self._kept.append(other)
            gain, p = self._test(scores)
            words = f"gain {gain:+.4g}, p {_p_text(p)}, {_runs(scores)} against {_runs(self._kept)}"
            if gain <= self._min_gain:
                return Ruling("rejected", words, len(scores))
            if p is not None and p <= share:
                self._kept = scores
                return Ruling("accepted", words, len(scores))
        return Ruling("indecisive", words, len(scores))

    def noise(self) -> tuple[float, int]:
        """Return the pooled standard deviation of one measurement, and its degrees of freedom; 0 of each while nothing is known."""
        squares = math.fsum((x - mean(group)) ** 2 for group in self._groups for x in group)
        freedom = sum(len(group) - 1 for group in self._groups if group)
        return (math.sqrt(squares / freedom) if freedom else 0.0), freedom

    def _test(self, scores: Sequence[float]) -> tuple[float, float | None]:
        """Return the gain in means and its one-sided p; None while nothing tells the noise."""
        gain = mean(scores) - mean(self._kept)
        sigma, freedom = self.noise()
        if not freedom:
            return gain, None
        error = sigma * math.sqrt(1 / len(scores) + 1 / len(self._kept))
        if error == 0:
            return gain, 0.0 if gain > self._min_gain else 1.0
        return gain, 1.0 - cdf((gain - self._min_gain) / error, df=freedom)


def mean(scores: Sequence[float]) -> float:
    """Return the mean."""
    return math.fsum(scores) / len(scores)


def _shares(alpha: float, looks: int) -> list[float]:
    """Return each look's share of the error: half to the last, the rest evenly to those before."""
    return [alpha] if looks == 1 else [alpha / 2 / (looks - 1)] * (looks - 1) + [alpha / 2]


def _runs(scores: Sequence[float]) -> str:
    return f"{len(scores)} run{'s' if len(scores) > 1 else ''}"


def _p_text(p: float | None) -> str:
    return "unknown" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"  # noqa: PLR2004
