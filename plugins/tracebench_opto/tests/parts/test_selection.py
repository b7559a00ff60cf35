from __future__ import annotations

import random

import pytest

from tracebench_core.specs import Candidate, Evaluation, Example, ExampleResult, Feedback
from tracebench_opto.parts.archive import Archive
from tracebench_opto.parts.objectives import SCALAR
from tracebench_opto.parts.priority import by_priority, ucb
from tracebench_opto.parts.selection import draw_by_wins, draw_softmax, frontier

EXAMPLES = [Example(id=name) for name in "abc"]


def fill(*rows: tuple[float, float, float]) -> Archive:
    archive = Archive()
    for number, row in enumerate(rows):
        results = tuple(
            ExampleResult(example=e.id, split="train", seconds=0.0, feedback=Feedback(score=s))
            for e, s in zip(EXAMPLES, row, strict=True)
        )
        candidate = Candidate(id=f"c{number}", values={"x": number})
        archive.add(Evaluation(candidate=candidate, results=results, score=sum(row) / 3))
    return archive


def test_the_frontier_holds_specialists_and_drops_the_mediocre() -> None:
    archive = fill((9.0, 0.0, 0.0), (0.0, 8.0, 7.0), (5.0, 5.0, 5.0))
    assert [e.index for e in frontier(list(archive), SCALAR, EXAMPLES)] == [1, 0]


def test_members_are_drawn_as_often_as_they_win() -> None:
    archive, rng = fill((9.0, 0.0, 0.0), (0.0, 8.0, 7.0)), random.Random(0)
    drawn = [draw_by_wins(list(archive), SCALAR, EXAMPLES, rng=rng).index for _ in range(600)]
    assert drawn.count(1) / 600 == pytest.approx(2 / 3, abs=0.08)


def test_a_cold_softmax_takes_the_best_and_a_hot_one_takes_all() -> None:
    archive, rng = fill((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), random.Random(0)
    assert {draw_softmax(list(archive), scale=0.01, rng=rng).index for _ in range(50)} == {1}
    assert {draw_softmax(list(archive), scale=100.0, rng=rng).index for _ in range(50)} == {0, 1}


def test_ucb_returns_to_what_was_measured_seldom() -> None:
    archive = fill((0.5, 0.5, 0.5), (0.6, 0.6, 0.6))
    leader = list(archive)[1]
    for _ in range(20):
        leader.add(leader.evaluations[0])
    assert by_priority(list(archive), archive, score_function="mean")[0] is leader
    assert by_priority(list(archive), archive, score_function="ucb", exploration=2.0)[0] is not leader


def test_ucb_does_not_depend_on_the_scale_of_scores() -> None:
    small, large = fill((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), fill((0.0, 0.0, 0.0), (1000.0, 1000.0, 1000.0))
    for one, other in zip(small, large, strict=True):
        assert ucb(other, large, exploration=1.0) == pytest.approx(1000 * ucb(one, small, exploration=1.0))


def test_time_takes_the_newest_first() -> None:
    archive = fill((3.0, 3.0, 3.0), (1.0, 1.0, 1.0), (2.0, 2.0, 2.0))
    assert [e.index for e in by_priority(list(archive), archive, score_function="time")] == [2, 1, 0]
