from __future__ import annotations

import math
import random

import pytest

from tracebench_analysis.statistics.contrasts import Contrast, contrast, contrast_task


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


@pytest.mark.parametrize("mean", [0.0, 0.4, -0.9])
def test_equivalence_is_the_larger_of_two_one_sided_tests(mean: float) -> None:
    """As `statsmodels.stats.weightstats.ttost_paired` and `ttost_ind` take it: the larger of scipy's two one-sided probabilities."""
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")
    one, other = draw(1, 9, mean=mean), draw(2, 9)
    apart = [one[s] - other[s] for s in one]
    found = contrast([contrast_task("t", one, other)], {})
    assert found is not None
    for margin in (0.1, 0.6, 2.0):
        above = stats.ttest_1samp(apart, -margin, alternative="greater").pvalue
        below = stats.ttest_1samp(apart, margin, alternative="less").pvalue
        assert found.equivalence(margin) == pytest.approx(max(above, below), rel=1e-9, abs=1e-15)
        assert (found.equivalence(margin) < 0.05) == found.interval(confidence=0.9).lies_within(margin)


def test_equivalence_of_seeds_that_nobody_shares_and_over_tasks_agrees_with_scipy() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")
    np = pytest.importorskip("numpy", reason="numpy writes it out")
    one, other = draw(1, 10), draw(2, 10, start=10)
    alone = contrast([contrast_task("t", one, other)], {})
    tasks = [(draw(s, 6), draw(s + 10, 6)) for s in range(4)]
    several = contrast([contrast_task(str(i), *two) for i, two in enumerate(tasks)], {str(i): 1.0 for i in range(4)})
    assert alone is not None
    assert several is not None
    sides = [
        stats.ttest_ind([v + shift for v in one.values()], [*other.values()], equal_var=False, alternative=way)
        for shift, way in ((1.5, "greater"), (-1.5, "less"))
    ]
    assert alone.equivalence(1.5) == pytest.approx(max(stats.t.sf(abs(s.statistic), math.floor(s.df)) for s in sides))
    apart = [np.array([a[s] - b[s] for s in a]) for a, b in tasks]
    parts = [d.var(ddof=1) / 6 for d in apart]
    freedom = math.floor(sum(parts) ** 2 / sum(v * v / 5 for v in parts))
    mean, error = np.mean([d.mean() for d in apart]), math.sqrt(sum(parts)) / 4
    assert several.equivalence(1.0) == pytest.approx(stats.t.sf((1.0 - abs(mean)) / error, freedom), rel=1e-9)


def test_pairs_that_are_all_alike_are_a_sign_test_and_no_certainty() -> None:
    def alike(n: int, by: float = 0.0) -> float | None:
        found = contrast([contrast_task("t", dict.fromkeys(range(n), 0.5 + by), dict.fromkeys(range(n), 0.5))], {})
        assert found is not None
        return found.equivalence(0.1)

    assert alike(1) is None
    assert alike(2) == 1 / 4
    assert alike(5) == 1 / 32
    assert alike(5, by=0.2) == 1
    steady = contrast_task("t", dict.fromkeys(range(2), 0.5), dict.fromkeys(range(2), 0.5))
    varying = contrast_task("u", {s: 0.01 * s for s in range(9)}, {s: 0.01 * (s % 2) + 0.01 * s for s in range(9)})
    both = contrast([steady, varying], {"t": 1.0, "u": 1.0})
    assert both is not None
    assert both.equivalence(0.1) == 1 / 4, "a task that was seen twice says no more than that, whatever the others say"


def over_tasks(*pairs: list[float]) -> Contrast:
    tasks = [contrast_task(str(t), dict(enumerate(p)), dict.fromkeys(range(len(p)), 0.0)) for t, p in enumerate(pairs)]
    found = contrast(tasks, {str(t): 1.0 for t in range(len(pairs))})
    assert found is not None
    return found


def test_other_tasks_are_a_t_interval_over_tasks_where_tasks_differ_more_than_seeds() -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle of this test")
    found = over_tasks([0.1, 0.11, 0.12], [0.5, 0.52, 0.51], [0.3, 0.3, 0.31])
    means = [t.estimate for t in found.tasks]
    low, high = stats.t.interval(0.95, 2, loc=sum(means) / 3, scale=stats.sem(means))

    assert (found.elsewhere().low, found.elsewhere().high) == pytest.approx((low, high))


def test_other_tasks_are_never_surer_than_these() -> None:
    """Two tasks that come out alike by chance tell of no certainty: their seeds vary."""
    found = over_tasks([0.0, 0.2, 0.4], [0.4, 0.0, 0.2])

    assert found.tasks[0].estimate == pytest.approx(found.tasks[1].estimate)
    assert (found.elsewhere().low, found.elsewhere().high) == (found.interval().low, found.interval().high)


def test_one_task_and_tasks_without_any_spread_tell_nothing_of_others() -> None:
    for found in (over_tasks([0.1, 0.2, 0.3]), over_tasks([0.2] * 4, [0.2] * 4), over_tasks([0.0] * 4, [0.0] * 4)):
        assert (found.elsewhere().low, found.elsewhere().high) == (None, None)
    assert over_tasks([0.1], [0.3]).elsewhere().low is not None, "one seed each: the tasks' spread is all there is"


def test_other_tasks_stay_inside_what_can_be() -> None:
    tasks = [
        contrast_task(task, {s: lead + s / 9 for s in range(4)}, dict.fromkeys(range(4), 0.0))
        for task, lead in (("x", -0.5), ("y", 0.6))
    ]
    for found in (contrast(tasks, {}), contrast(tasks, {"x": 1.0, "y": 1.0}, widths={"x": 1.0, "y": 1.0})):
        assert found is not None
        assert (found.elsewhere().low, found.elsewhere().high) == (-1.0, 1.0)


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
