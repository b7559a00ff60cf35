from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_analysis.statistics.differences import compare_scores
from tracebench_analysis.statistics.floor import resolution_of
from tracebench_analysis.statistics.multiplicity import holm
from tracebench_analysis.statistics.resolution import pooled_spread
from tracebench_analysis.statistics.rounding import settled

EXAMPLES = st.sampled_from([3, 5, 7, 10, 20, 30, 100])


def by_seed(scores):
    return {"t": dict(enumerate(scores))}


@pytest.mark.parametrize(
    ("one", "other"),
    [([0.7, 0.8], [0.2, 0.3]), ([0.9, 0.8], [0.8, 0.7]), ([1e6 + 0.7, 1e6 + 0.8], [1e6 + 0.2, 1e6 + 0.3])],
)
def test_differences_that_rounding_holds_apart_are_one_difference_twice(one, other) -> None:
    found = compare_scores(by_seed(one), by_seed(other))

    assert found is not None
    assert found.probability == 0.5
    assert (found.interval.low, found.interval.high) == (None, None)
    assert resolution_of(found.contrast) is None


def test_settled_values_keep_what_was_measured() -> None:
    assert settled([0.5, 0.25, -0.5], size=1.0) == (0.5, 0.25, -0.5)
    assert settled([1e-12, -3e-16, 0.5], size=1.0) == (0.0, 0.0, 0.5)
    assert settled([1e-12, 2e-12], size=1e-12) == (1e-12, 2e-12)
    first, second = settled([0.7 - 0.2, 0.8 - 0.3], size=0.8)
    assert first == second


@given(
    EXAMPLES.flatmap(
        lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n)] * 2), min_size=2, max_size=6))
    )
)
def test_shares_are_judged_as_the_counts_that_they_are(drawn) -> None:
    """Scores multiplied by the number of examples are whole numbers, whose differences are exact: the same verdict."""
    examples, counts = drawn
    whole = compare_scores(by_seed([float(a) for a, _ in counts]), by_seed([float(b) for _, b in counts]))
    shares = compare_scores(by_seed([a / examples for a, _ in counts]), by_seed([b / examples for _, b in counts]))

    assert whole is not None
    assert shares is not None
    assert shares.probability == pytest.approx(whole.probability, rel=1e-9)
    assert (shares.interval.low is None) == (whole.interval.low is None)
    assert (shares.interval.estimate > 0) == (whole.interval.estimate > 0) or whole.probability == pytest.approx(1)


@pytest.mark.parametrize("seeds", [2, 3, 4])
def test_six_equal_trainers_with_shares_are_seldom_told_apart(seeds: int) -> None:
    """Of 3 to 100 examples, under Holm over the fifteen pairs: any winner in at most 5 % of comparisons, and the simulation's error."""
    np = pytest.importorskip("numpy", reason="numpy draws the scores")
    rng, found, tables = np.random.default_rng(1), 0, 0
    for examples in (3, 5, 10, 20, 100):
        for counts in rng.binomial(examples, 0.7, size=(40, 6, seeds)):
            scores = [by_seed((row / examples).tolist()) for row in counts]
            judged = [compare_scores(one, other) for one, other in combinations(scores, 2)]
            found += any(p is not None and p < 0.05 for p in holm([pair.probability for pair in judged if pair]))
            tables += 1
    assert found <= 0.05 * tables + 2.6 * (0.05 * 0.95 * tables) ** 0.5


def test_scores_that_never_vary_tell_of_no_spread() -> None:
    assert pooled_spread([[0.1 + 0.2, 0.3, 0.3], [0.5, 0.5]]) is None
