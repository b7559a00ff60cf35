"""What is kept: noise is not, whatever its shape; a clear gain is; and everything between is called by its name."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import count, repeat

import pytest

from tracebench_autoresearch.statistics.drift import Drift
from tracebench_autoresearch.statistics.effect import effect
from tracebench_autoresearch.statistics.evidence import Evidence, RunLevel, Scale, fewest_pairs, sign_flip_probability
from tracebench_autoresearch.trainer.judging import Greedy, PairedTrial, Rule, Ruling


def trial(*, seed: int = 1, experiments: int = 5, **settings: float) -> PairedTrial:
    return PairedTrial(random.Random(seed), experiments=experiments, **settings)  # type: ignore[arg-type]


def judged(rule: Rule, edit: Iterator[float | None], kept: Iterator[float | None] | None = None) -> Ruling:
    others = kept if kept is not None else repeat(0.0)
    return rule.judge(lambda: next(edit), lambda: next(others))


def test_a_clear_gain_is_accepted_in_the_fewest_pairs_that_can_show_it() -> None:
    rule = trial()
    rule.start([0.0, 0.1, -0.1, 0.05])

    ruling = judged(rule, repeat(9.0))

    assert (ruling.verdict, ruling.runs) == ("accepted", fewest_pairs(5 / 0.05))
    assert "gain +9 in 7 pairs" in ruling.reason


def test_each_edit_that_is_kept_makes_the_next_one_easier() -> None:
    rule = trial(experiments=20)
    rule.start([0.0, 0.1, -0.1, 0.05])

    runs = [judged(rule, repeat(9.0 * n), repeat(9.0 * (n - 1))).runs for n in range(1, 5)]

    assert runs == [9, 8, 8, 7]


def test_what_falls_behind_is_rejected_without_another_pair() -> None:
    rule = trial()
    rule.start([0.0, 0.1, -0.1, 0.05])

    assert judged(rule, repeat(-0.5)).runs == 1
    assert judged(rule, iter([0.2, -0.9])).verdict == "rejected"


def test_what_stays_ahead_without_standing_out_is_indecisive() -> None:
    rule = trial(max_repeats=8)
    rule.start([0.0, 1.0, -1.0, 0.5])

    ruling = judged(rule, repeat(0.4))

    assert ruling.verdict == "indecisive"
    assert ruling.runs < 8, "it goes on though no number of wins that are left would do"


def test_what_fails_when_it_is_run_again_is_rejected_and_what_is_kept_may_fail() -> None:
    rule = trial()
    rule.start([0.0, 1.0, -1.0])

    assert "failed when it was run again, after 1" in judged(rule, iter([0.6, None])).reason
    assert judged(rule, repeat(0.6), repeat(None)).verdict == "indecisive"


def test_without_noise_every_gain_counts_and_a_tie_does_not() -> None:
    rule = trial()
    rule.start([1.0, 1.0])

    assert judged(rule, repeat(1.0), repeat(1.0)).verdict == "indecisive"
    assert judged(rule, repeat(1.001), repeat(1.0)).verdict == "accepted"


@pytest.mark.parametrize("rule", [trial(), Greedy()])
def test_the_first_that_measures_is_kept_where_the_baseline_does_not(rule: Rule) -> None:
    rule.start([])

    assert judged(rule, repeat(None)).verdict == "rejected"
    assert judged(rule, repeat(-5.0)).verdict == "accepted"


def test_gains_below_the_least_that_counts_are_rejected() -> None:
    rule = trial(min_gain=1.0)
    rule.start([0.0, 0.0])

    assert judged(rule, repeat(0.9)).verdict == "rejected"
    assert judged(rule, repeat(1.1)).verdict == "accepted"


def test_what_is_kept_is_measured_in_every_pair_and_in_either_order() -> None:
    order: list[str] = []
    rule = trial(experiments=200)
    rule.start([0.0, 0.1])
    for _ in range(30):
        rule.judge(lambda: order.append("edit") or 5.0, lambda: order.append("kept") or 5.0)  # type: ignore[func-returns-value]

    assert order.count("edit") == order.count("kept") > 200
    assert {tuple(order[i : i + 2]) for i in range(0, len(order), 2)} == {("edit", "kept"), ("kept", "edit")}


def still(rng: random.Random) -> Iterator[float]:
    while True:
        yield rng.gauss(0, 1)


def rising(rng: random.Random) -> Iterator[float]:
    return (rng.gauss(0, 1) + 0.05 * step for step in count())


def walking(rng: random.Random) -> Iterator[float]:
    level = 0.0
    while True:
        level += rng.gauss(0, 0.5)
        yield level


def lumpy(rng: random.Random) -> Iterator[float]:
    while True:
        yield float(sum(rng.random() < 0.8 for _ in range(10)))


def struck(
    series: Callable[[random.Random], Iterator[float]], build: Callable[[random.Random], Rule], runs: int
) -> int:
    """Return in how many runs of ten edits that change nothing any was kept."""
    found = 0
    for seed in range(runs):
        noise, rule = series(random.Random(seed)), build(random.Random(seed))
        rule.start([next(noise) for _ in range(4)])
        found += sum(judged(rule, noise, noise).verdict == "accepted" for _ in range(10)) > 0
    return found


@pytest.mark.parametrize("series", [still, rising, walking, lumpy])
def test_few_runs_keep_noise_of_any_shape_and_most_do_by_the_greedy_rule(
    series: Callable[[random.Random], Iterator[float]],
) -> None:
    ours = struck(series, lambda rng: PairedTrial(rng, experiments=10), 60)
    greedy = struck(series, lambda _: Greedy(), 60)

    assert ours <= 0.05 * 60
    assert greedy > 30


def test_bets_are_fair_whatever_the_sizes() -> None:
    for sizes in ([1.0, 1.0, 1.0], [0.1, 50.0, 3.0], [0.0, 2.0, 2.0]):
        for scale in (None, 0.0, 0.3, 40.0):
            values = []
            for signs in range(8):
                evidence = Evidence()
                for place, size in enumerate(sizes):
                    evidence.add(size if signs >> place & 1 else -size, scale)
                values.append(evidence.value)
            assert sum(values) / 8 == pytest.approx(1.0)


def test_the_scale_is_of_neighbours_and_does_not_span_two_sets_of_files() -> None:
    scale = Scale()
    assert scale.value is None
    for value in (0.0, 1.0, 0.0):
        scale.add(value)
    scale.restart()
    for value in (100.0, 101.0):
        scale.add(value)

    assert scale.value == pytest.approx(1 / 0.6745)


def test_the_level_of_a_run_falls_with_what_was_kept() -> None:
    level = RunLevel(alpha=0.1, tests=10)
    needed = [level.needed]
    level.count_kept()

    assert [*needed, level.needed] == [100, 50]


@pytest.mark.parametrize(("series", "said"), [(still, False), (lumpy, False), (rising, True), (walking, True)])
def test_a_drift_is_said_and_none_where_there_is_none(
    series: Callable[[random.Random], Iterator[float]], said: bool
) -> None:
    drift, noise = Drift(random.Random(2)), series(random.Random(3))
    for _ in range(80):
        drift.add(next(noise))

    assert drift.is_seen == said


def test_other_files_being_kept_is_no_drift() -> None:
    drift, noise = Drift(random.Random(2)), still(random.Random(3))
    for level in range(0, 50, 5):
        drift.restart()
        for _ in range(8):
            drift.add(level + next(noise))

    assert not drift.is_seen


def test_sign_flips_and_intervals_are_exact() -> None:
    assert sign_flip_probability([1.0, 2.0, 3.0]) == 1 / 8
    assert sign_flip_probability([-1.0, 2.0, 3.0]) == 2 / 8
    assert effect([1.0] * 5).low is None
    found = effect([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    assert (found.value, found.low, found.high) == (4.0, 2.0, 6.0)


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    rng = random.Random(5)
    held = 0
    for _ in range(400):
        found = effect([2.0 + rng.gauss(0, 1) - rng.expovariate(1) + rng.expovariate(1) for _ in range(8)])
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 2.0 <= found.high

    assert held >= 0.93 * 400
