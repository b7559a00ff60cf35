"""Two entrants as their own jobs tell of them: nothing here depends on who else is in the comparison."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tracebench_analysis.comparison.outcomes import ENDED, FailurePolicy, Outcome
from tracebench_analysis.statistics.differences import Difference, Scores, compare_scores, probability_of_improvement
from tracebench_core.specs import Bounds

Known = dict[tuple[str, str], dict[int, float]]
"""Scores by seed, by entrant and task."""


@dataclass(frozen=True, slots=True)
class Declared:
    """What tasks say of their scores, by task; what they do not say is left out."""

    targets: Mapping[str, float]
    bounds: Mapping[str, Bounds]

    def widths(self) -> dict[str, float]:
        """Return how far apart two scores of a task can be, where it bounds them on both sides."""
        return {
            task: b.maximum - b.minimum
            for task, b in self.bounds.items()
            if b.minimum is not None and b.maximum is not None and b.maximum > b.minimum
        }


@dataclass(frozen=True, slots=True)
class Two:
    """The scores of two entrants on the tasks that both have, and the fixed scale of each task that has one."""

    one: Scores
    other: Scores
    spans: Mapping[str, float]
    """From the initial candidate's score to the declared target; where none is declared, the width of the declared bounds."""
    widths: Mapping[str, float]
    measured: Mapping[str, int]
    """By task, pairs of a seed that both have a measured score of."""
    blank: frozenset[str]
    """Tasks on which one of the two has no measured score at all: nothing is said of the two there."""

    def turned(self) -> Two:
        """Return the two the other way round."""
        return replace(self, one=self.other, other=self.one)

    def difference(self, task: str | None = None) -> Difference | None:
        """Return how far apart they are on one task, or on all; None when they never met there."""
        one = self.one if task is None else {task: self.one.get(task, {})}
        return compare_scores(one, self.other, spans=self.spans, widths=self.widths)

    def improvement(self, task: str | None = None) -> float | None:
        """Return the probability that a job of the first scores higher, on one task or on all."""
        one = self.one if task is None else {task: self.one.get(task, {})}
        return probability_of_improvement(one, self.other)


def meet(
    one: Iterable[Outcome], other: Iterable[Outcome], *, policy: FailurePolicy, declared: Declared, known: Known
) -> Two:
    """Return two entrants as they are compared. `known` are the scores of others that met: equal ones are held once.

    A job without a score counts as the policy says, by the initial candidate's scores in the jobs of these two alone. Where on no task both
    have a measured score they never met.
    """
    mine, theirs = _by_task(one), _by_task(other)
    measured: dict[str, int] = {}
    blank: set[str] = set()
    found: tuple[dict[str, dict[int, float]], dict[str, dict[int, float]]] = ({}, {})
    spans = dict(declared.widths())
    for task in mine:
        if task not in theirs:
            continue
        both = [*mine[task], *theirs[task]]
        zero = _zero(both)
        missing = _missing(both, zero, policy)
        scored = [{o.seed for o in side if o.score is not None} for side in (mine[task], theirs[task])]
        measured[task] = len(scored[0] & scored[1])
        if not all(scored):
            blank.add(task)
        for side, outcomes in zip(found, (mine[task], theirs[task]), strict=True):
            values = {o.seed: v for o in outcomes if (v := missing if o.score is None else o.score) is not None}
            if values:
                held = known.setdefault((outcomes[0].entrant, task), values)
                side[task] = held if held == values else values
        target = declared.targets.get(task)
        if target is not None and zero is not None and target > zero:
            spans[task] = target - zero
    if blank.issuperset(measured):
        found = ({}, {})
    return Two(*found, spans=spans, widths=declared.widths(), measured=measured, blank=frozenset(blank))


def _by_task(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    found: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if outcome.status in ENDED:
            found[outcome.task].append(outcome)
    return found


def _zero(outcomes: Sequence[Outcome]) -> float | None:
    """Return the initial candidate's score; where it was never measured, the lowest final one."""
    initial = [o.initial for o in outcomes if o.initial is not None]
    scores = [o.score for o in outcomes if o.score is not None]
    return math.fsum(initial) / len(initial) if initial else min(scores, default=None)


def _missing(both: Sequence[Outcome], zero: float | None, policy: FailurePolicy) -> float | None:
    """Return what a job without a score counts as; None where it does not count."""
    if policy == "exclude" or zero is None:
        return None
    return zero if policy == "initial" else min([zero, *(o.score for o in both if o.score is not None)])
