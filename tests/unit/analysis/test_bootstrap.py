from __future__ import annotations

import random

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

import numpy as np

from tracebench_analysis.statistics import bootstrap
from tracebench_analysis.statistics.bootstrap import (
    bootstrap_interval,
    bootstrap_t_interval,
    interquartile_mean,
    iqm_interval,
)
from tracebench_analysis.statistics.intervals import t_interval

RNG = random.Random(7)
MATRIX = [[RNG.gauss(task, 0.5) for _ in range(10)] for task in range(5)]
"""Tasks x seeds."""


def test_the_interquartile_mean_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")

    for n in range(1, 12):
        assert interquartile_mean(range(n)) == pytest.approx(stats.trim_mean(range(n), 0.25))


def test_the_plain_percentile_interval_agrees_with_rliable() -> None:
    library = pytest.importorskip("rliable.library", reason="rliable is the oracle of this test", exc_type=Exception)
    metrics = pytest.importorskip("rliable.metrics", reason="rliable is the oracle of this test", exc_type=Exception)
    theirs = np.asarray(MATRIX).T
    points, intervals = library.get_interval_estimates(
        {"a": theirs}, lambda x: np.array([metrics.aggregate_iqm(x)]), reps=2_000
    )

    def iqm(drawn: np.ndarray) -> np.ndarray:
        return np.asarray([interquartile_mean([*map(float, row)]) for row in drawn])

    estimate = interquartile_mean([score for scores in MATRIX for score in scores])
    found = bootstrap_interval(MATRIX, iqm, estimate=estimate, resamples=2_000, expanded=False)

    assert estimate == pytest.approx(points["a"][0])
    assert (found.low, found.high) == pytest.approx((intervals["a"][0][0], intervals["a"][1][0]), abs=0.05)


def test_intervals_are_the_same_whatever_is_held_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    strata = [[0.5, 1.0, 1.5, 4.0, 2.0, 2.25], [0.1, 0.4, 0.2, 0.9, 0.3, 0.35, 0.8]]
    at_once = bootstrap_t_interval(strata), iqm_interval(strata)

    monkeypatch.setattr(bootstrap, "BLOCK", 13 * 7)  # seven resamples at a time: 2,000 are no multiple of that

    assert (bootstrap_t_interval(strata), iqm_interval(strata)) == at_once


def test_the_expanded_interval_is_wider_the_fewer_the_seeds() -> None:
    def mean(drawn: np.ndarray) -> np.ndarray:
        return np.asarray(drawn.mean(axis=1))

    def ratio(n: int) -> float:
        strata = [scores[:n] for scores in MATRIX]
        wide, narrow = (bootstrap_interval(strata, mean, estimate=2.0, expanded=e) for e in (True, False))
        assert wide.low is not None
        assert wide.high is not None
        assert narrow.low is not None
        assert narrow.high is not None
        return (wide.high - wide.low) / (narrow.high - narrow.low)

    assert ratio(3) > ratio(10) > 1


def test_a_skewed_sample_gets_a_skewed_interval_never_narrower_than_student() -> None:
    scores = [[0.01, 0.02, 0.03, 0.05, 2.0]]
    student, found = t_interval(scores), bootstrap_t_interval(scores)

    assert found.low is not None
    assert found.high is not None
    assert student.low is not None
    assert student.high is not None
    assert found.low <= student.low
    assert found.high > student.high
    assert found.high - found.estimate > found.estimate - found.low


@pytest.mark.parametrize("interval", [bootstrap_t_interval, iqm_interval])
def test_the_same_scores_give_the_same_interval_and_equal_ones_a_point(interval) -> None:
    assert interval(MATRIX) == interval(MATRIX)
    point = interval([[0.5] * 4, [0.5] * 4])
    assert (point.low, point.high) == (0.5, 0.5)
    assert interval([[0.5]]).low is None
