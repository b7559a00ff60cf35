"""Who replaces whom: only what is better, and never what is not measured."""

from __future__ import annotations

import pytest

from tracebench_core.specs import Candidate, Evaluation, ExampleResult, Feedback
from tracebench_opto.parts.acceptance import improves
from tracebench_opto.parts.objectives import Goal


def evaluation(score: float | None) -> Evaluation:
    feedback = Feedback(score=0.0, status="not_measured") if score is None else Feedback(score=score)
    result = ExampleResult(example="a", split="train", feedback=feedback, seconds=0.0)
    return Evaluation(candidate=Candidate(id="c1", values={}), results=(result,), score=score)


@pytest.mark.parametrize(
    ("new", "old", "better"),
    [
        (2.0, 1.0, True),
        (1.0, 1.0, False),
        (1.0, 2.0, False),
        (None, 1.0, False),
        (1.0, None, True),
        (None, None, False),
    ],
)
def test_only_what_is_better_replaces(new: float | None, old: float | None, *, better: bool) -> None:
    assert improves(evaluation(new), evaluation(old), goal=Goal()) is better


def test_a_threshold_has_to_be_passed() -> None:
    assert not improves(evaluation(1.5), evaluation(1.0), goal=Goal(), threshold=0.5)
    assert improves(evaluation(1.6), evaluation(1.0), goal=Goal(), threshold=0.5)
