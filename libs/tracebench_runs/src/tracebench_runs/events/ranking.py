"""Which of a job's candidates are best, by what was measured of them: for the engine while it trains, and for whoever reads its events.

Candidates are compared on common examples only: those of the comparison set, on all of which each of them was measured. Who was measured
on a part of it, or rejected, or not measured on an example of it, is never the best. What leads on another whole set, train above all,
is no worse for that: it is a finalist, and the engine's own measurement decides.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from tracebench_core.specs import Feedback, FeedbackStatus
from tracebench_runs.events.board import Aggregate, Board, Entry, mean
from tracebench_runs.events.many import Numbers, Shelf

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
