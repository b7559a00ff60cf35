from __future__ import annotations

import math

import pytest

from tracebench_analysis.statistics.contrasts import contrast, contrast_task
from tracebench_analysis.statistics.intervals import mean_of_means, t_interval

SCORES = [0.61, 0.72, 0.55, 0.83, 0.79, 0.66]


def t_probability(strata: list[list[float]]) -> float | None:
    """Of differences of every task from a trainer that always scores 0, in the tasks' own units."""
    tasks = [contrast_task(str(t), dict(enumerate(s)), dict.fromkeys(range(len(s)), 0.0)) for t, s in enumerate(strata)]
    found = contrast(tasks, dict.fromkeys(map(str, range(len(strata))), 1.0))
    assert found is not None
    return found.probability


def test_one_task_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")
    theirs = stats.ttest_1samp(SCORES, 0.5)
    interval = theirs.confidence_interval(0.95)

    found = t_interval([SCORES])

    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert t_probability([[s - 0.5 for s in SCORES]]) == pytest.approx(theirs.pvalue)


def test_two_tasks_agree_with_welch() -> None:
    """A mean over two tasks is a sum of two sample means, as Welch's difference is: same error, same degrees of freedom (rounded down)."""
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")
    other = [-0.2, -0.5, -0.1, -0.9]
    theirs = stats.ttest_ind(SCORES, [-score for score in other], equal_var=False)
    expected = 2 * stats.t.sf(abs(theirs.statistic), math.floor(theirs.df))

    assert t_probability([SCORES, other]) == pytest.approx(expected)


def test_tasks_weigh_alike_whatever_their_seeds() -> None:
    assert mean_of_means([[1.0] * 10, [0.0]]) == 0.5
    with pytest.raises(ValueError, match="every stratum"):
        mean_of_means([[1.0], []])


def test_one_seed_has_a_mean_and_no_interval() -> None:
    found = t_interval([[0.3], [0.5, 0.6]])

    assert found.estimate == pytest.approx(0.425)
    assert (found.low, found.high) == (None, None)
    assert not found.excludes(99.0)
    assert t_probability([[0.3]]) is None


@pytest.mark.parametrize(("n", "probability"), [(2, 0.5), (5, 0.0625), (6, 0.03125)])
def test_differences_that_are_all_alike_count_as_signs(n: int, probability: float) -> None:
    assert t_probability([[0.1] * n]) == probability


def test_no_difference_is_certain_to_be_none() -> None:
    assert t_probability([[0.0] * 5]) == 1.0
    assert t_probability([[0.1] * 5, [-0.1] * 5]) == 1.0
