"""What a search knows: every candidate that it met, with all its results, in the order of first appearance."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from tracebench_core.ids import canonical_json
from tracebench_core.specs import Candidate, Evaluation, Example, ExampleResult, Split, Values
from tracebench_opto.parts.frontier import sort_fronts
from tracebench_opto.parts.objectives import SCALAR, Goal, Vector

REPEATS = 10
"""Equal repeats after which a task counts as free of noise."""
DIGITS = 12
"""Of what a failed example counted for, which is computed back from a mean: the last digits are chance, and differ from batch to batch."""


def example_values(evaluation: Evaluation, goal: Goal) -> dict[str, float | None]:
    """Return what each example of the batch counts for; None where it was not measured and the engine counted nothing for it."""
    floor = _worst_score(evaluation, goal)
    return {r.example: goal.value(r.feedback) if r.feedback.status == "ok" else floor for r in evaluation.results}


def evaluation_value(evaluation: Evaluation, goal: Goal) -> float | None:
    """Return the mean over the batch, or None when an example was not measured."""
    values = [v for v in example_values(evaluation, goal).values() if v is not None]
    return math.fsum(values) / len(values) if values and len(values) == len(evaluation.results) else None


@dataclass(slots=True, eq=False)
class Entry:
    """One candidate in a search: its evaluations, and what they say of it."""

    candidate: Candidate
    index: int
    """Place in the order of first appearance."""
    goal: Goal
    split: Split = "train"
    """The split whose results count; the feedback of others is kept, their scores are not."""
    parent: Entry | None = None
    """The candidate that it was proposed from."""
    evaluations: list[Evaluation] = field(default_factory=list)
    scores: dict[str, list[float]] = field(default_factory=dict)
    """Every measured score, by example."""
    failed: set[str] = field(default_factory=set)
    """Examples that were never measured, however often they were tried."""
    latest: dict[str, tuple[ExampleResult, float | None]] = field(default_factory=dict)
    """The newest result on each example, of any split, and the score it counts for."""

    @property
    def count(self) -> int:
        """How many scores were measured."""
        return sum(map(len, self.scores.values()))

    def add(self, evaluation: Evaluation) -> None:
        """Take in one more evaluation of this candidate."""
        self.evaluations.append(evaluation)
        counted = {r.example for r in evaluation.results if r.split == self.split}
        for example, score in example_values(evaluation, self.goal).items():
            if example in counted and score is not None:
                self.scores.setdefault(example, []).append(score)
        self.failed = (self.failed | counted) - self.scores.keys()
        counts_for = example_values(evaluation, SCALAR)
        self.latest.update({r.example: (r, counts_for[r.example]) for r in evaluation.results})

    def evaluation_on(self, examples: Sequence[Example]) -> Evaluation | None:
        """Return the newest results on exactly `examples` as one evaluation, or None when one of them was never tried."""
        if any(e.id not in self.latest for e in examples):
            return None
        results = [self.latest[e.id][0] for e in examples]
        scores = [s for e in examples if (s := self.latest[e.id][1]) is not None]
        score = math.fsum(scores) / len(scores) if scores and len(scores) == len(results) else None
        return Evaluation(candidate=self.candidate, results=tuple(results), score=score)

    def example_means(self, examples: Iterable[Example] | None = None) -> dict[str, float]:
        """Return the mean score on each measured example, of all or of `examples`."""
        wanted = self.scores.keys() if examples is None else [e.id for e in examples if e.id in self.scores]
        return {e: math.fsum(self.scores[e]) / len(self.scores[e]) for e in wanted}

    def mean(self, examples: Sequence[Example] | None = None) -> float | None:
        """Return the mean over the measured examples, or None when nothing was measured or an example could not be."""
        means = self.example_means(examples)
        failed = self.failed if examples is None else self.failed.intersection(e.id for e in examples)
        return None if failed or not means else math.fsum(means.values()) / len(means)

    def vector(self) -> Vector | None:
        """Return the means of the objectives over the newest results that count, each to be maximised, or None when one is missing."""
        feedbacks = [r.feedback for r, _ in self.latest.values() if r.split == self.split]
        vectors = [self.goal.vector(f.metrics) if f.status == "ok" else None for f in feedbacks]
        known = [v for v in vectors if v is not None]
        if not known or len(known) < len(vectors):
            return None
        return tuple(math.fsum(column) / len(known) for column in zip(*known, strict=True))

    def lineage(self) -> list[Entry]:
        """Return the ancestors, oldest first, and this entry."""
        line: list[Entry] = [self]
        while (above := line[-1].parent) is not None:
            line.append(above)
        return line[::-1]


class Archive:
    """The entries of one search, by candidate and by values."""

    def __init__(self, goal: Goal | None = None, *, split: Split = "train") -> None:
        self.goal = goal or SCALAR
        self.split = split
        self._entries: dict[str, Entry] = {}
        self._by_values: dict[bytes, Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def add(self, evaluation: Evaluation, *, parent: Entry | None = None) -> Entry:
        """File an evaluation under its candidate; `parent` counts when the candidate is new."""
        candidate = evaluation.candidate
        if candidate.id not in self._entries:
            entry = Entry(candidate, len(self._entries), self.goal, self.split, parent)
            self._entries[candidate.id] = self._by_values[canonical_json(candidate.values)] = entry
        entry = self._entries[candidate.id]
        entry.add(evaluation)
        return entry

    @property
    def noisy(self) -> bool | None:
        """Return whether a candidate scored differently on the same example, or None while too few repeats were seen to tell."""
        repeated = [s for entry in self for s in entry.scores.values() if len(s) > 1]
        if any(min(s) != max(s) for s in repeated):
            return True
        return False if sum(len(s) - 1 for s in repeated) >= REPEATS else None

    def find(self, values: Values) -> Entry | None:
        """Return the entry with exactly these values, if it was met."""
        return self._by_values.get(canonical_json(values))

    def ranked(
        self, entries: Iterable[Entry] | None = None, *, examples: Sequence[Example] | None = None
    ) -> list[Entry]:
        """Return entries best first (all of them by default); see `rank`."""
        return rank(self if entries is None else entries, self.goal, examples=examples)

    def spread(self) -> float:
        """Return the distance between the best and the worst mean, or 1 when there is none: the scale of scores."""
        means = [m for e in self if (m := e.mean()) is not None]
        return (max(means) - min(means) if means else 0.0) or 1.0


def rank(entries: Iterable[Entry], goal: Goal, *, examples: Sequence[Example] | None = None) -> list[Entry]:
    """Return entries best first; ties go to the older one, candidates without a score come last.

    With goal `pareto`, fronts come first and the mean orders within a front.
    """
    pool = sorted(entries, key=lambda e: (_descending(e.mean(examples)), e.index))
    if goal.mode != "pareto":
        return pool
    measured = [e for e in pool if e.vector() is not None]
    fronts = sort_fronts(measured, lambda e: e.vector() or ())
    return [e for front in fronts for e in front] + [e for e in pool if e.vector() is None]


def _worst_score(evaluation: Evaluation, goal: Goal) -> float | None:
    """Return what the engine counted each failed example of the batch for; None when it counted none."""
    failed = sum(r.feedback.status != "ok" for r in evaluation.results)
    if not failed or evaluation.score is None or goal.mode != "scalar":
        return None
    measured = [r.feedback.score for r in evaluation.results if r.feedback.status == "ok"]
    counted = (evaluation.score * len(evaluation.results) - math.fsum(measured)) / failed
    scale = max(map(abs, (evaluation.score, counted, *measured)))
    return round(counted, DIGITS - math.ceil(math.log10(scale))) if scale else counted


def _descending(score: float | None) -> float:
    return math.inf if score is None else -score
