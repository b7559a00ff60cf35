from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_analysis.statistics.curves import (
    Curve,
    area,
    band,
    grid,
    performance_profile,
    reached_share,
)

SLOW = Curve(xs=(2.0, 6.0), ys=(0.1, 0.9), end=10.0)
FAST = Curve(xs=(1.0, 3.0), ys=(0.2, 0.6), end=4.0)


def test_a_curve_is_a_step_and_is_carried_on_after_its_end() -> None:
    assert [SLOW.at(x) for x in (1.9, 2.0, 5.9, 6.0, 99.0)] == [None, 0.1, 0.1, 0.9, 0.9]


def test_seeds_that_share_no_position_are_averaged_as_steps() -> None:
    points = band([[SLOW, FAST]], [1.0, 2.0, 5.0, 10.0])

    assert [p.x for p in points] == [2.0, 5.0, 10.0], "before both began there is no mean"
    assert [p.interval.estimate for p in points] == pytest.approx([0.15, 0.35, 0.75])
    assert [p.carried for p in points] == [0.0, 0.5, 0.5]


def test_the_grid_ends_where_the_longest_job_did() -> None:
    assert grid([SLOW, FAST], points=2) == [5.0, 10.0]
    assert grid([]) == [0.0]


def test_the_area_by_hand() -> None:
    assert area(SLOW, most=10.0, initial=0.0) == pytest.approx((2 * 0.0 + 4 * 0.1 + 4 * 0.9) / 10)
    assert area(SLOW, most=0.0, initial=0.3) == 0.3


@given(st.floats(0.1, 50))
def test_a_curve_that_is_never_lower_has_no_smaller_area(most: float) -> None:
    higher = Curve(SLOW.xs, tuple(y + 0.1 for y in SLOW.ys), SLOW.end)

    assert area(higher, most=most, initial=0.0) >= area(SLOW, most=most, initial=0.0)


def test_the_share_reached_by_hand() -> None:
    assert reached_share([SLOW, FAST], [[0.1, 0.8], [0.1, 0.8]], [0, 1, 2, 6]) == [0, 0.25, 0.5, 0.75]


def test_the_profile_agrees_with_rliable() -> None:
    library = pytest.importorskip("rliable.library", reason="rliable is the oracle of this test", exc_type=Exception)
    np = pytest.importorskip("numpy", reason="rliable takes arrays")
    scores, taus = [[0.1, 0.5, 0.9], [0.4, 0.4, 0.8]], [0.0, 0.4, 0.6, 1.0]
    theirs = [library.run_score_deviation(np.array(scores).T, tau) for tau in taus]

    assert performance_profile(scores, taus) == pytest.approx(theirs)
