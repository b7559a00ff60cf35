"""The candidates that were measured on all of one set of examples, by their score: the best at hand, of the others a number each."""

from __future__ import annotations

import heapq
import marshal
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tracebench_core import averages

Aggregate = Callable[[Sequence[float], Sequence[Mapping[str, float]]], float]
"""Makes one score of those of a batch's examples, and of the metrics of each."""
AT_HAND = 512
"""So many of the best are in the heap, or up to twice as many; the others are looked through where none of those is left."""
Rank = tuple[float, int]
"""What the best candidate has the least of: minus its score, and its number."""
_LAST: Rank = (math.inf, 0)


def mean(scores: Sequence[float], _metrics: Sequence[Mapping[str, float]] = ()) -> float:
    """Return the arithmetic mean, the same on every Python version."""
    return averages.mean(scores)


@dataclass(slots=True)
class Entry:
    """All that was measured of one candidate, by example."""

    number: int
    scores: dict[str, list[float]] = field(default_factory=dict)
    metrics: dict[str, Mapping[str, float]] = field(default_factory=dict)
    unmeasured: frozenset[str] = frozenset()
    rejected: bool = False

    def packed(self) -> bytes:
        """Return it as bytes, for `of`."""
        metrics = {example: dict(found) for example, found in self.metrics.items()}
        return marshal.dumps((self.number, self.scores, metrics, self.unmeasured, self.rejected))

    @classmethod
    def of(cls, packed: bytes) -> Entry:
        """Return what was packed."""
        return cls(*marshal.loads(packed))  # noqa: S302 - bytes that were made here


class Board:
    """The candidates that were measured on all of one set of examples, by their score on it."""

    def __init__(self, examples: Sequence[str], aggregate: Aggregate) -> None:
        self.examples = tuple(dict.fromkeys(examples))
        self._set = frozenset(examples)
        self._aggregate = aggregate
        self._scores = array("d")
        """By number; not a number for who is not on the board."""
        self._heap: list[Rank] = []
        self._floor = _LAST
        """Everybody on the board who ranks no lower is in the heap, which may hold what they no longer are, too."""
        self.is_used = False
        """Whether another candidate than the initial one was measured on all of it."""

    def update(self, entry: Entry) -> None:
        """Take in what is known of a candidate by now."""
        number = entry.number
        self._scores.extend([math.nan] * (number + 1 - len(self._scores)))
        if (entry.rejected and number) or len(entry.scores) < len(self._set) or not self._covers(entry):
            self._scores[number] = math.nan
            return
        scores = [mean(entry.scores[e]) for e in self.examples]
        score = self._aggregate(scores, [entry.metrics.get(e, {}) for e in self.examples])
        if not math.isfinite(score):
            self._scores[number] = math.nan
            return
        if self._scores[number] != score:
            self._scores[number] = score
            if (rank := (-score, number)) <= self._floor:
                self._push(rank)
        self.is_used = self.is_used or number > 0

    def concerns(self, example: str) -> bool:
        """Tell whether an example is one of the set."""
        return example in self._set

    def is_of(self, examples: Sequence[str]) -> bool:
        """Tell whether these examples are the set."""
        return self._set == frozenset(examples)

    def leader(self) -> tuple[int, float] | None:
        """Return the best candidate, among equals the first, and its score."""
        while True:
            while self._heap:
                negative, number = self._heap[0]
                if self._scores[number] == -negative:
                    return number, -negative
                heapq.heappop(self._heap)
            if self._floor is _LAST:
                return None
            self._keep(self._every())

    def ranked(self, most: int) -> list[int]:
        """Return so many candidates on the board, the best first."""
        return [number for _, number in heapq.nsmallest(most, self._every())]

    def _push(self, rank: Rank) -> None:
        heapq.heappush(self._heap, rank)
        if len(self._heap) > 2 * AT_HAND:
            self._keep({(negative, n) for negative, n in self._heap if self._scores[n] == -negative})

    def _keep(self, ranks: Iterator[Rank] | set[Rank]) -> None:
        """Hold the best of these, who are all that rank no lower than the worst of them, or than the floor."""
        best = heapq.nsmallest(AT_HAND + 1, ranks)
        self._heap = best[:AT_HAND]
        if len(best) > AT_HAND:
            self._floor = self._heap[-1]
        elif not isinstance(ranks, set):  # that was everybody
            self._floor = _LAST

    def _every(self) -> Iterator[Rank]:
        return ((-score, number) for number, score in enumerate(self._scores) if score == score)  # noqa: PLR0124 - a number

    def _covers(self, entry: Entry) -> bool:
        return self._set <= entry.scores.keys() and not (entry.unmeasured & self._set)
