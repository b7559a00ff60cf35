"""Which of a job's candidates are best, by what was measured of them: for the engine while it trains, and for whoever reads its events.

Candidates are compared on common examples only: those of the comparison set, on all of which each of them was measured. Who was measured
on a part of it, or rejected, or not measured on an example of it, is never the best. What leads on another whole set, train above all,
is no worse for that: it is a finalist, and the engine's own measurement decides.
"""

from __future__ import annotations

import heapq
import marshal
import math
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tracebench_core import averages
from tracebench_core.specs import Feedback, FeedbackStatus
from tracebench_runs.events.many import Numbers, Shelf

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


__all__ = [
    "FINALISTS",
    "INITIAL",
    "Aggregate",
    "FindAggregate",
    "Ranking",
    "aggregate_score",
    "counted_score",
    "mean",
    "mean_alone",
]

FindAggregate = Callable[[str], Aggregate | None]
"""Returns an aggregate by its name; None where nobody here offers it."""
INITIAL = "c0"
FINALISTS = 3
"""How many of the best candidates of the comparison set the engine measures on all of validation."""


def mean_alone(name: str) -> Aggregate | None:
    """Return the arithmetic mean by its name: what a reader without plugins knows."""
    return mean if name == "mean" else None


def counted_score(score: float, status: FeedbackStatus, worst_score: float | None) -> float | None:
    """Return what a measurement counts for: its score, the task's worst where the candidate failed, None where it was not measured."""
    match status:
        case "ok":
            return score
        case "not_measured":
            return None
    return worst_score


def aggregate_score(feedbacks: Sequence[Feedback], worst_score: float | None, aggregate: Aggregate) -> float | None:
    """Return the score of a batch, or None when any part of it counts for nothing, or what the aggregate makes of it is no number."""
    scores = [s for f in feedbacks if (s := counted_score(f.score, f.status, worst_score)) is not None]
    if not scores or len(scores) < len(feedbacks):
        return None
    score = aggregate(scores, [f.metrics for f in feedbacks])
    return score if math.isfinite(score) else None


class Ranking:
    """Ranks candidates on the comparison set that the trainer declares.

    Without one it is all of validation, or all of train until a candidate other than the initial one was measured on all of validation.
    Finalists are the best of the comparison set and the leaders of every other: validation, train, and what was declared before. So of
    one sequence of measurements a longer part never loses a leader that a shorter one had, unless the trainer rejects it.
    """

    def __init__(
        self,
        *,
        train: Sequence[str],
        validation: Sequence[str],
        worst_score: float | None,
        aggregate: Aggregate = mean,
    ) -> None:
        self._worst_score = worst_score
        self._aggregate = aggregate
        self._boards = [Board(examples, aggregate) for examples in (validation, train) if examples]
        self._declared: list[Board] = []
        self._numbers = Numbers()
        self._entries = Shelf(Entry.packed, Entry.of)
        self.best = INITIAL
        self.best_score: float | None = None
        """On the comparison set; None while no candidate was measured on all of it."""

    def see(self, id_: str) -> None:
        """Take in a candidate; among equals the one that was seen first is best."""
        number, new = self._numbers.add(id_)
        if new:
            self._entries.append(Entry(number))

    def compare_on(self, examples: Sequence[str]) -> None:
        """Rank on these examples from now on, by what is known of them already, too."""
        board = Board(examples, self._aggregate)
        for entry in self._entries:
            board.update(entry)
        self._declared = [board, *(earlier for earlier in self._declared if not earlier.is_of(examples))]
        self._lead()

    def record(
        self, id_: str, example: str, *, score: float, status: FeedbackStatus, metrics: Mapping[str, float]
    ) -> bool:
        """Take one measurement; return whether the best changed, or its score."""
        entry = self._entry(id_)
        counted = counted_score(score, status, self._worst_score)
        if counted is None:
            if example not in entry.scores:
                entry.unmeasured |= {example}
        else:
            if example in entry.unmeasured:
                entry.unmeasured -= {example}
            entry.scores.setdefault(example, []).append(counted)
            if self._aggregate is not mean:
                entry.metrics[example] = metrics
        for board in self._every:
            if board.concerns(example):
                board.update(entry)
        return self._lead()

    def means(self, id_: str) -> dict[str, float]:
        """Return the mean of what a candidate measured on each example, by example."""
        return {example: mean(scores) for example, scores in self._entry(id_).scores.items()}

    def judge(self, id_: str, verdict: Literal["accepted", "rejected", "indecisive"]) -> None:
        """Take a trainer's verdict: what is rejected cannot be the best until it is accepted."""
        number = self._numbers.find(id_)
        if number is None or verdict == "indecisive":
            return
        entry = self._entries.get(number)
        if entry.rejected != (verdict == "rejected"):
            entry.rejected = verdict == "rejected"
            for board in self._every:
                board.update(entry)
            self._lead()

    def finalists(self, most: int) -> list[str]:
        """Return the best candidates of the comparison set in their order, the leaders of the other sets, and the initial one."""
        compared = self._board
        leaders = [found[0] for board in self._every if board is not compared and (found := board.leader()) is not None]
        return list(dict.fromkeys([*map(self._numbers.name, [*compared.ranked(most), *leaders]), INITIAL]))

    @property
    def _every(self) -> list[Board]:
        return [*self._declared, *self._boards]

    @property
    def _board(self) -> Board:
        """The comparison set's."""
        if self._declared:
            return self._declared[0]
        used = next((board for board in self._boards if board.is_used), None)
        return used or next((board for board in self._boards if board.leader() is not None), self._boards[-1])

    def _entry(self, id_: str) -> Entry:
        number = self._numbers.find(id_)
        if number is None:
            raise KeyError(id_)
        return self._entries.get(number)

    def _lead(self) -> bool:
        before = self.best, self.best_score
        leader = self._board.leader()
        self.best, self.best_score = (INITIAL, None) if leader is None else (self._numbers.name(leader[0]), leader[1])
        return (self.best, self.best_score) != before
