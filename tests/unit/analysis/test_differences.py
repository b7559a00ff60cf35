from __future__ import annotations

import random

import pytest

from tracebench_analysis.statistics.differences import compare_scores, probability_of_improvement

A = {"x": {1: 0.5, 2: 0.7, 3: 0.6}, "y": {1: 1.0, 2: 0.8}}
B = {"x": {1: 0.4, 2: 0.5, 4: 0.1}, "z": {1: 0.0}}


def test_every_score_of_a_common_task_counts_and_pairs_are_told_from_the_rest() -> None:
    found = compare_scores(A, B)

    assert found is not None
    assert [t.task for t in found.tasks] == ["x"]
    assert (found.paired, found.unpaired) == (2, 2)
    assert found.tasks[0].estimate == pytest.approx(0.6 - 1 / 3)


def test_swapping_two_trainers_changes_the_sign_alone() -> None:
    one, other = compare_scores(A, B), compare_scores(B, A)

    assert one is not None
    assert other is not None
    assert one.interval.estimate == pytest.approx(-other.interval.estimate)
    assert one.probability == pytest.approx(other.probability)
    assert one.unpaired == other.unpaired


def test_trainers_without_a_common_task_are_not_compared() -> None:
    assert compare_scores(A, {"z": {1: 1.0}}) is None
    assert probability_of_improvement(A, {"z": {1: 1.0}}) is None


def test_equal_steps_everywhere_have_no_interval_but_nothing_has_one_at_zero() -> None:
    higher = {"x": dict.fromkeys(range(5), 0.6)}
    lower = {"x": dict.fromkeys(range(5), 0.5)}
    found, none = compare_scores(higher, lower), compare_scores(lower, lower)

    assert found is not None
    assert found.interval.low is None
    assert found.probability == pytest.approx(0.0625)
    assert none is not None
    assert (none.interval.low, none.interval.high, none.probability) == (0, 0, 1)


def test_the_probability_of_improvement_agrees_with_rliable_and_counts_ties_half() -> None:
    metrics = pytest.importorskip("rliable.metrics", reason="rliable is the oracle of this test", exc_type=Exception)
    np = pytest.importorskip("numpy", reason="rliable takes arrays")
    rng = random.Random(3)
    one = [[round(rng.gauss(0.4, 0.3), 1) for _ in range(8)] for _ in range(3)]
    other = [[round(rng.gauss(0.2, 0.3), 1) for _ in range(6)] for _ in range(3)]

    found = probability_of_improvement(
        {str(t): dict(enumerate(scores)) for t, scores in enumerate(one)},
        {str(t): dict(enumerate(scores)) for t, scores in enumerate(other)},
    )

    assert found == pytest.approx(metrics.probability_of_improvement(np.array(one).T, np.array(other).T))


def test_the_probability_of_improvement_of_equals_is_a_half() -> None:
    assert probability_of_improvement(A, A) == pytest.approx(0.5)


def test_the_probability_of_improvement_is_what_looking_at_each_pair_gives_rounding_included() -> None:
    rng = random.Random(5)
    for _ in range(200):
        one = [rng.choice([0.1 + 0.2, 0.3, 0.7 - 0.4, rng.random()]) for _ in range(rng.randint(1, 12))]
        other = [rng.choice([0.3, 0.3 + 1e-7, rng.random()]) for _ in range(rng.randint(1, 12))]
        wins = [0.5 if abs(a - b) < 1e-9 * max(*one, *other) else float(a > b) for a in one for b in other]

        found = probability_of_improvement({"x": dict(enumerate(one))}, {"x": dict(enumerate(other))})

        assert found == pytest.approx(sum(wins) / len(wins), abs=1e-12)
