from __future__ import annotations

import math
import random

import pytest

from tracebench_core.analysis.contrasts import contrast, contrast_task


def draw(seed: int, n: int, *, mean: float = 0.0, start: int = 0) -> dict[int, float]:
    rng = random.Random(seed)
    return {start + i: rng.gauss(mean, 1.0) for i in range(n)}


def probability(one: dict[int, float], other: dict[int, float]) -> float | None:
    found = contrast([contrast_task("t", one, other)], {})
    assert found is not None
    return found.probability


def test_common_seeds_are_a_paired_t_test() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")
    one, other = draw(1, 7), draw(2, 7, mean=0.5)
    theirs = stats.ttest_rel([*one.values()], [*other.values()])

    assert probability(one, other) == pytest.approx(theirs.pvalue, rel=1e-12)


def test_seeds_that_nobody_shares_are_welchs_test() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")
    one, other = draw(1, 10), draw(2, 6, mean=0.7, start=10)
    theirs = stats.ttest_ind([*one.values()], [*other.values()], equal_var=False)
    expected = 2 * stats.t.sf(abs(theirs.statistic), math.floor(theirs.df))

    assert probability(one, other) == pytest.approx(expected, rel=1e-12)


def test_seeds_of_which_some_are_shared_are_between_the_two() -> None:
    """T_new2 of Derrick et al. (2017), written out."""
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")
    np = pytest.importorskip("numpy", reason="numpy writes it out")
    one, other = draw(1, 9), draw(2, 8, start=4)
    common = [s for s in one if s in other]
    x, y = np.array([*one.values()]), np.array([*other.values()])
    r = np.corrcoef([one[s] for s in common], [other[s] for s in common])[0, 1]
    v, w, n, m, c = x.var(ddof=1), y.var(ddof=1), len(x), len(y), len(common)
    error = math.sqrt(v / n + w / m - 2 * r * math.sqrt(v * w) * c / (n * m))
    gamma = (v / n + w / m) ** 2 / ((v / n) ** 2 / (n - 1) + (w / m) ** 2 / (m - 1))
    freedom = c - 1 + (gamma - c + 1) / (n + m) * (n + m - 2 * c)
    expected = 2 * stats.t.sf(abs(x.mean() - y.mean()) / error, math.floor(freedom))

    assert c == 5
    assert probability(one, other) == pytest.approx(expected, rel=1e-9)


def test_disjoint_seeds_that_differ_clearly_are_told_apart() -> None:
    assert probability(draw(1, 10, mean=9.0), draw(2, 10, start=10)) < 1e-6
    assert probability(dict.fromkeys(range(5), 0.9), dict.fromkeys(range(5, 10), 0.5)) == pytest.approx(2 / 252)


def test_one_score_alone_tells_of_no_spread() -> None:
    assert probability({0: 0.9}, {0: 0.1}) is None
    assert probability({0: 0.9, 1: 0.8}, {2: 0.1}) is None


def test_a_standardised_difference_is_the_effect_size_r_and_on_one_task_the_same_test() -> None:
    one, other = draw(1, 6, mean=1.0), draw(2, 6)
    plain = contrast_task("t", one, other)
    r = plain.standardised()
    t = plain.estimate / math.sqrt(plain.variance)

    assert r.estimate == pytest.approx(t / math.sqrt(t * t + 5))
    assert r.estimate / math.sqrt(r.variance) == pytest.approx(t)


def test_over_several_tasks_the_scale_is_declared_or_standardised_and_its_interval_stays_inside() -> None:
    tasks = [contrast_task(name, draw(i, 3, mean=30.0), draw(i + 9, 3)) for i, name in enumerate("ab")]
    free, fixed = contrast(tasks, {"a": 40.0}), contrast(tasks, {"a": 40.0, "b": 40.0}, widths={"a": 40.0, "b": 40.0})

    assert free is not None
    assert fixed is not None
    assert (free.scale, fixed.scale) == ("standardised", "fixed")
    assert free.interval().high <= 1
    assert fixed.estimate == pytest.approx(sum(t.estimate for t in tasks) / 80)


def test_a_scale_moves_with_the_units_and_the_standardised_difference_does_not() -> None:
    one, other = draw(1, 5, mean=1.0), draw(2, 5)
    bigger = [{seed: 1000 * v - 7 for seed, v in scores.items()} for scores in (one, other)]

    plain, scaled = contrast_task("t", one, other).standardised(), contrast_task("t", *bigger).standardised()
    assert scaled.estimate == pytest.approx(plain.estimate)
