from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_analysis.statistics.resolution import (
    MOST_SEEDS,
    paired_seeds_to_resolve,
    pooled_spread,
    seeds_to_resolve,
    smallest_difference,
    smallest_paired_difference,
)


@pytest.mark.parametrize(("difference", "seeds"), [(0.2, 394), (0.5, 64), (0.8, 26), (1.0, 17)])
def test_seeds_agree_with_published_sample_sizes(difference: float, seeds: int) -> None:
    """Cohen (1988), Statistical Power Analysis, table 2.4.1: two-sided 5 %, 80 % power."""
    assert seeds_to_resolve(difference) == seeds


def test_one_seed_resolves_nothing() -> None:
    assert smallest_difference(1) is None
    assert smallest_difference(0) is None


def test_a_difference_too_small_for_any_design_is_told_apart() -> None:
    assert seeds_to_resolve(1e-6) is None
    with pytest.raises(ValueError, match="positive"):
        seeds_to_resolve(0)


@given(st.integers(2, 300))
def test_the_seeds_for_half_do_resolve_half_and_one_fewer_does_not(seeds: int) -> None:
    smallest = smallest_difference(seeds)
    assert smallest is not None
    more = seeds_to_resolve(smallest / 2)
    assert more is not None
    enough, one_fewer = smallest_difference(more), smallest_difference(more - 1)
    assert enough is not None
    assert enough <= smallest / 2
    assert one_fewer is None or one_fewer > smallest / 2


@given(
    difference=st.floats(0.001, 100),
    tasks=st.integers(1, 12),
    alpha=st.sampled_from([0.05, 0.05 / 45, 0.01, 0.3]),
    power=st.sampled_from([0.2, 0.5, 0.8, 0.95]),
)
def test_as_many_seeds_as_are_told_resolve_a_difference_and_one_fewer_does_not(
    difference: float, tasks: int, alpha: float, power: float
) -> None:
    found = paired_seeds_to_resolve(difference, tasks=tasks, alpha=alpha, power=power)

    def least(seeds: int) -> float:
        return smallest_paired_difference(seeds, tasks=tasks, alpha=alpha, power=power) or math.inf

    if found is None:
        assert least(MOST_SEEDS) > difference
    else:
        assert least(found) <= difference
        assert found == 2 or least(found - 1) > difference


def test_the_wished_power_is_what_a_t_test_has() -> None:
    stats = pytest.importorskip("scipy.stats")
    for seeds in (5, 10, 30):
        difference, freedom = smallest_difference(seeds), 2 * seeds - 2
        assert difference is not None
        limit = stats.t.ppf(0.975, freedom)
        power = 1 - stats.nct.cdf(limit, freedom, difference / math.sqrt(2 / seeds))
        assert power == pytest.approx(0.8, abs=0.02)


def test_groups_are_pooled_around_their_own_means() -> None:
    spread = pooled_spread([[1.0, 3.0], [101.0, 103.0], [7.0]])

    assert spread is not None
    assert spread.deviation == pytest.approx(math.sqrt(2))
    assert spread.freedom == 2


def test_without_two_scores_there_is_no_spread() -> None:
    assert pooled_spread([[1.0], []]) is None
