"""The laws of the winner find what breaks them, and name it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from tracebench_core.specs.events import CandidateSeen, Decision, EvaluationDone, Event, ExamplesKnown, Scored
from tracebench_testing.winning import thrown_away, winners, worse_later, worse_with_more

KNOWN = ExamplesKnown(train=("t0", "t1"), validation=("v0", "v1"))


def seen(*names: str) -> list[Event]:
    return [CandidateSeen(id=n, parents=(), origin="", values={"x": n}, step=None) for n in names]


def measured(candidate: str, example: str, score: float, **more: Any) -> EvaluationDone:
    split = "validation" if example.startswith("v") else "train"
    told = {"status": "ok", "by": "trainer"} | more
    return EvaluationDone.model_validate(
        {
            "candidate": candidate,
            "split": split,
            "example": example,
            "score": score,
            "metrics": {},
            "feedback": "",
            "seconds": 0.0,
            **told,
        }
    )


def whole(candidate: str, *scores: float) -> list[Event]:
    """A candidate on both examples of validation, and of train where there are four scores."""
    return [measured(candidate, e, s) for e, s in zip(("v0", "v1", "t0", "t1"), scores, strict=False)]


def scored(candidate: str, score: float | None, what: str = "finalist", split: str = "validation") -> Scored:
    return Scored.model_validate({"what": what, "split": split, "candidate": candidate, "score": score, "metrics": {}})


def test_the_winner_is_worth_what_was_measured_of_it_last() -> None:
    events = [KNOWN, *seen("c0", "c1"), *whole("c0", 1.0, 1.0), *whole("c1", 3.0, 3.0)]
    found = winners([*events, measured("c1", "v0", 9.0, by="engine")])
    assert (len(found), found[1], found[-1]) == (4, 1.0, 3.0)
    assert found == sorted(found)
    assert worse_later(events) == ""
    assert winners([KNOWN, *seen("c0")]) == []


def test_a_longer_part_with_a_worse_winner_is_told() -> None:
    events = [KNOWN, *seen("c0"), *whole("c0", 2.0, 2.0), measured("c0", "t0", 1.5)]
    assert worse_later(events) == "after 3 evaluations the winner is worth 1.5, and was worth 2 before"
    assert worse_later([KNOWN, *seen("c0"), *whole("c0", 2.0, 2.0 - 5e-10)]) == ""


def ended(*scores: Event, before: Sequence[Event] = ()) -> list[Event]:
    """`c1` leads validation with 2, `c2` train with 4; `c0` is level with neither."""
    return [
        KNOWN,
        *seen("c0", "c1", "c2"),
        *whole("c0", 1.0, 1.0, 1.0, 1.0),
        *whole("c1", 2.0, 2.0),
        measured("c2", "t0", 3.0),
        measured("c2", "t1", 5.0),
        *before,
        *scores,
    ]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        (ended(scored("c1", 2.0), scored("c2", 1.0), scored("c1", 2.0, "best")), ""),
        (ended(scored("c1", 2.0, "best")), "c2, the best on all of train, was never measured on what decides"),
        (ended(scored("c2", 1.0)), "c1, the best on all of validation, was never measured on what decides"),
        (
            ended(scored("c1", 2.0), scored("c2", 2.5), scored("c1", 2.0, "best")),
            "c2, the best on all of train, scores 2.5 there, and the winner 2.0",
        ),
        (
            ended(scored("c1", 2.0), scored("c2", 0.0)),
            "c1, the best on all of validation, scores 2 there, and the winner None",
        ),
        (ended(scored("c1", None), scored("c2", None)), ""),
        (ended(scored("c1", 2.0), scored("c2", 2.0 + 5e-10), scored("c1", 2.0, "best")), ""),
        (
            ended(scored("c1", 2.0, "best"), scored("c2", 9.0, split="test")),
            "c2, the best on all of train, was never measured on what decides",
        ),
        (
            ended(scored("c1", 2.0, "best"), scored("c0", 1.0), before=[Decision(candidate="c2", verdict="rejected")]),
            "",
        ),
        (
            ended(
                scored("c1", 2.0, "best"), scored("c0", 1.0), before=[Decision(candidate="c2", verdict="indecisive")]
            ),
            "c2, the best on all of train, was never measured on what decides",
        ),
        (
            ended(
                scored("c1", 2.0, "best"),
                scored("c0", 1.0),
                before=[Decision(candidate="c2", verdict="rejected"), Decision(candidate="c2", verdict="accepted")],
            ),
            "c2, the best on all of train, was never measured on what decides",
        ),
        (ended(scored("c1", 2.0, "best"), scored("c0", 1.0), before=[measured("c2", "t0", -9.0)]), ""),
        (
            ended(scored("c1", 2.0, "best"), scored("c2", 1.0), before=[measured("c0", "v0", 9.0, status="timeout")]),
            "",
        ),
        (
            ended(scored("c1", 2.0, "best"), scored("c2", 1.0), before=[measured("c0", "v0", 9.0)]),
            "c0, the best on all of validation, was never measured on what decides",
        ),
        (ended(scored("c1", 2.0, "best"), scored("c2", 1.0), before=[measured("c0", "v0", 9.0, by="engine")]), ""),
        (
            ended(scored("c1", 2.0, "best"), scored("c2", 1.0), before=[measured("c0", "v0", 3.0)]),
            "c0, the best on all of validation, was never measured on what decides",
        ),
    ],
)
def test_the_best_that_was_measured_on_a_whole_split_may_not_be_thrown_away(events: list[Event], words: str) -> None:
    assert thrown_away(events) == words


def test_nobody_leads_a_split_that_is_empty_or_that_nobody_met_whole() -> None:
    alone = ExamplesKnown(train=("t0",), validation=())
    assert thrown_away([alone, *seen("c0")]) == ""
    assert thrown_away([KNOWN, *seen("c0"), measured("c0", "v0", 5.0)]) == ""
    events = [alone, *seen("c0"), measured("c0", "t0", 5.0)]
    assert thrown_away(events) == "c0, the best on all of train, was never measured on what decides"
    assert thrown_away([*events, scored("c0", 5.0, split="train"), scored("c0", 5.0, "best", split="train")]) == ""


class Ran:
    """As much of a trial as the law looks at."""

    def __init__(self, path: Sequence[float], score: float | None) -> None:
        self.evaluations = [measured("c0", f"v{i}", s) for i, s in enumerate(path)]
        self._score = score

    def score(self) -> float | None:
        return self._score


@pytest.mark.parametrize(
    ("short", "long", "words"),
    [
        (
            ([1, 2], 3.0),
            ([1, 2, 0], 2.5),
            "2 evaluations return a winner worth 3, and 3 that begin alike one worth 2.5",
        ),
        (([1, 2], 3.0), ([1, 2, 0], 3.0), ""),
        (([1, 2], 3.0), ([1, 2, 0], 3.0 - 5e-10), ""),
        (([1, 2], 3.0), ([1, 9, 0], 2.5), ""),
        (([1, 2], None), ([1, 2, 0], 2.5), ""),
        (([1, 2], 3.0), ([1, 2, 0], None), ""),
        (([1, 2], -math.inf), ([1, 2], 0.0), ""),
    ],
)
def test_a_larger_budget_may_not_make_the_winner_worse_where_it_began_alike(short: Any, long: Any, words: str) -> None:
    assert worse_with_more(Ran(*short), Ran(*long)) == words  # type: ignore[arg-type]  # as much of one as is needed
