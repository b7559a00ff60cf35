from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_analysis.statistics.multiplicity import chi_squared_tail, compare_ranks, holm, ranked, studentised_range

TABLE = [[0.9, 0.8, 0.7, 0.7], [0.6, 0.5, 0.5, 0.1], [0.3, 0.4, 0.2, 0.1], [0.9, 0.1, 0.5, 0.3], [0.8, 0.7, 0.6, 0.2]]


def test_holm_by_hand() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_never_lowers(probabilities: list[float]) -> None:
    adjusted = holm(probabilities)

    for p, q in zip(probabilities, adjusted, strict=True):
        assert q is not None
        assert p <= q <= 1
    order = sorted(range(len(probabilities)), key=probabilities.__getitem__)
    assert [adjusted[i] for i in order] == sorted(q for q in adjusted if q is not None)


def test_equal_scores_share_their_ranks() -> None:
    assert ranked([0.5, 0.9, 0.5, 0.1]) == [2.5, 1.0, 2.5, 4.0]


def test_friedman_agrees_with_scipy_ties_included() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")
    found = compare_ranks(TABLE)

    assert found is not None
    assert found.probability == pytest.approx(stats.friedmanchisquare(*zip(*TABLE, strict=True)).pvalue)


def test_the_critical_difference_agrees_with_demsar_and_scikit_posthocs() -> None:
    """Demsar (2006), table 5: q for 4 groups at 5 % is 2.569."""
    found = compare_ranks(TABLE)
    assert found is not None
    assert found.critical_difference == pytest.approx(2.569 * (4 * 5 / (6 * 5)) ** 0.5, abs=1e-3)

    posthocs = pytest.importorskip("scikit_posthocs", reason="scikit-posthocs is the oracle of this test")
    theirs = posthocs.posthoc_nemenyi_friedman(TABLE)
    for i, one in enumerate(found.ranks):
        for j, other in enumerate(found.ranks):
            if i != j:
                assert (abs(one - other) > found.critical_difference) == (theirs.iloc[i, j] < 0.05)


@pytest.mark.parametrize("groups", [2, 3, 6, 20])
def test_the_studentised_range_agrees_with_scipy(groups: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")

    assert studentised_range(0.95, groups=groups) == pytest.approx(
        stats.studentized_range.ppf(0.95, groups, float("inf")), rel=1e-6
    )


@pytest.mark.parametrize("df", range(1, 8))
def test_the_chi_squared_tail_agrees_with_scipy(df: int) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")

    for x in (0.0, 0.1, 3.0, 40.0):
        assert chi_squared_tail(x, df=df) == pytest.approx(stats.chi2.sf(x, df), abs=1e-12)


def test_all_equal_and_too_few_are_not_ranked_apart() -> None:
    found = compare_ranks([[1.0, 1.0, 1.0]] * 3)

    assert found is not None
    assert found.ranks == (2.0, 2.0, 2.0)
    assert found.probability == 1.0
    assert compare_ranks(TABLE[:1]) is None
    assert compare_ranks([[1.0]] * 5) is None
