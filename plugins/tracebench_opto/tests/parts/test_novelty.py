"""How far apart candidates are, and which proposals lie in the gaps between those that are known."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.specs import Values
from tracebench_opto.parts.novelty import EmbeddedDistance, Net, _edited_share, edit_distance


def at(*places: float) -> list[Values]:
    return [{"x": place} for place in places]


def apart(a: Values, b: Values) -> float:
    return abs(float(a["x"]) - float(b["x"]))  # type: ignore[arg-type]  # numbers, as `at` made them


def test_a_gap_is_as_wide_as_the_way_to_the_nearest_that_is_known() -> None:
    net = Net(apart, epsilon=1.0)

    # 1 lies by 0, though far from 10; 5 lies between them, and is alone wider than the median of both gaps.
    assert net.admit(at(0, 10), at(1, 5)) == at(5)


def test_each_that_is_admitted_narrows_the_gaps_of_the_next() -> None:
    net = Net(apart, epsilon=1.0)

    assert net.admit(at(0), at(8, 9, 1, 3)) == at(9)  # 8 lies by 9 now, and 3 is no farther than half of all gaps, 5.5
    assert net.admit(at(0), at(9, 20)) == at(20, 9)  # half of all gaps up to now: 8.5


def test_the_farthest_of_many_copies_is_still_tried_and_an_empty_net_takes_all_that_differ() -> None:
    assert Net(apart, epsilon=1.0).admit(at(4), at(4, 4, 4)) == at(4)
    assert Net(apart, epsilon=1.0).admit([], at(4, 4, 6)) == at(4, 6)
    assert Net(apart, epsilon=0.0).admit(at(4), at(4, 5)) == at(4, 5)


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ({"x": 1.0}, {"x": 3.0}, 0.5),
        ({"x": -1.0}, {"x": 1.0}, 1.0),
        ({"x": 2}, {"x": 2.0}, 0.0),
        ({"x": "a b c d"}, {"x": "a b c e"}, 2 / 8),
        ({"x": "a b"}, {"x": "a b c d"}, 2 / 6),
        ({"x": "a  b"}, {"x": "a b"}, 1 / 4),
        ({"x": True}, {"x": 1}, 1.0),
        ({"x": 1.0, "y": "a"}, {"x": 3.0, "y": "b"}, 1.5),
    ],
)
def test_the_distance_is_the_share_of_what_was_edited(a: Any, b: Any, distance: float) -> None:
    assert edit_distance(a, b) == edit_distance(b, a) == pytest.approx(distance)
    assert edit_distance(a, a) == 0


def test_an_embedding_is_asked_once_for_each_candidate() -> None:
    asked: list[str] = []

    def embedding(texts: Any) -> list[list[float]]:
        asked.extend(texts)
        return [[float(len(text)), 4.0] for text in texts]

    distance = EmbeddedDistance(embedding)

    assert distance({"x": "ab"}, {"x": "abcde"}) == 3.0
    assert distance({"x": "abcde"}, {"x": "ab"}) == 3.0
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("a", "b", "share"),
    [
        (["x"], ["y"], 1.0),
        (["x", "same"], ["y", "same"], 0.5),
        (["same", "x"], ["same", "y"], 0.5),
        (["x"], ["x"], 0.5),
    ],
)
def test_the_first_token_counts_like_any_other(a: list[str], b: list[str], share: float) -> None:
    assert _edited_share(a, b) == share  # of what is alike throughout, one token: blanks may differ


@pytest.mark.parametrize(
    ("one", "other", "distance"), [(0, 0.0, 0), (0.0, 0, 0), (1, 1.0, 0), (0, 1.0, 1), (1, 3.0, 0.5), (0, False, 1)]
)
def test_a_whole_number_is_no_way_from_the_same_with_a_point(one: Any, other: Any, distance: float) -> None:
    assert edit_distance({"x": one}, {"x": other}) == distance
