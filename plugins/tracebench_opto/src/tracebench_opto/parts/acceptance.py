"""Acceptance tests: whether a candidate replaces another, and the verdict on record."""

from __future__ import annotations

from typing import Literal

from tracebench_core.contracts import Problem
from tracebench_core.specs import Evaluation
from tracebench_opto.parts.archive import evaluation_value
from tracebench_opto.parts.objectives import Goal


def improves(new: Evaluation, old: Evaluation, *, goal: Goal, threshold: float = 0.0) -> bool:
    """Return whether `new` beats `old`, measured on the same examples, by more than `threshold`; what is not measured never does."""
    after, before = evaluation_value(new, goal), evaluation_value(old, goal)
    return after is not None and (before is None or after > before + threshold)


def accept(
    problem: Problem,
    new: Evaluation,
    old: Evaluation,
    *,
    goal: Goal,
    threshold: float = 0.0,
    always: bool = False,
    what: str = "this batch",
) -> bool:
    """Test `new` against `old`, record the verdict, and return whether `new` goes on; `always` lets it, however it did."""
    accepted = always or improves(new, old, goal=goal, threshold=threshold)
    after, before = evaluation_value(new, goal), evaluation_value(old, goal)
    verdict: Literal["accepted", "rejected", "indecisive"]
    verdict = "accepted" if accepted else "indecisive" if after is not None and after == before else "rejected"
    problem.decide(new.candidate, verdict, f"{_words(after)} against {_words(before)} on {what}")
    return accepted


def _words(value: float | None) -> str:
    return "unmeasured" if value is None else f"{value:.6g}"
