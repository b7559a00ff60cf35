"""What is kept: noise is not, a clear gain is, and everything between is called by its name."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tracebench_autoresearch.trainer.judging import Greedy, NoiseAware, Rule, Ruling


def judged(rule: Rule, *, first: float, more: list[float | None], kept: list[float | None] | None = None) -> Ruling:
    others = iter(kept if kept is not None else [0.0] * 9)
    rerun = iter(more)
    return rule.judge(first, lambda: next(rerun), lambda: next(others))


def test_a_clear_gain_is_accepted_at_once() -> None:
    rule = NoiseAware()
    rule.start([0.0, 0.1, -0.1, 0.05])

    ruling = judged(rule, first=9.0, more=[])

    assert (ruling.verdict, ruling.runs) == ("accepted", 1)


def test_what_falls_behind_is_rejected_without_another_run() -> None:
    rule = NoiseAware()
    rule.start([0.0, 0.1, -0.1, 0.05])

    assert judged(rule, first=-0.01, more=[]).verdict == "rejected"
    assert judged(rule, first=0.2, more=[-0.5]).runs == 2


def test_what_stays_ahead_without_standing_out_is_indecisive_after_all_its_runs() -> None:
    rule = NoiseAware(max_repeats=3)
    rule.start([0.0, 1.0, -1.0, 0.5])

    ruling = judged(rule, first=0.6, more=[0.5, 0.7], kept=[0.0, 0.3])

    assert (ruling.verdict, ruling.runs) == ("indecisive", 3)
    assert "3 runs against 6 runs" in ruling.reason


def test_what_fails_when_it_is_run_again_is_rejected() -> None:
    rule = NoiseAware()
    rule.start([0.0, 1.0, -1.0])

    assert "failed when it was run again" in judged(rule, first=0.6, more=[None]).reason


def test_without_noise_every_gain_counts_and_a_tie_does_not() -> None:
    rule = NoiseAware()
    rule.start([1.0, 1.0])

    assert judged(rule, first=1.0, more=[]).verdict == "rejected"
    assert judged(rule, first=1.001, more=[]).verdict == "accepted"


@pytest.mark.parametrize("rule", [NoiseAware(), Greedy()])
def test_the_first_that_measures_is_kept_where_the_baseline_does_not(rule: Rule) -> None:
    rule.start([])

    assert judged(rule, first=-5.0, more=[]).verdict == "accepted"


def test_gains_below_the_least_that_counts_are_rejected() -> None:
    rule = NoiseAware(min_gain=1.0)
    rule.start([0.0, 0.0])

    assert judged(rule, first=0.9, more=[]).verdict == "rejected"
    assert judged(rule, first=1.1, more=[]).verdict == "accepted"


def accepted(build: Callable[[], Rule], *, runs: int, proposals: int) -> int:
    count = 0
    for seed in range(runs):
        rng, rule = random.Random(seed), build()
        draw = lambda rng=rng: rng.gauss(0.0, 1.0)  # noqa: E731
        rule.start([draw() for _ in range(4)])
        count += sum(rule.judge(draw(), draw, draw).verdict == "accepted" for _ in range(proposals))
    return count


def test_noise_is_accepted_within_its_share_and_far_less_than_by_the_greedy_rule() -> None:
    ours, greedy = (accepted(build, runs=60, proposals=10) for build in (NoiseAware, Greedy))

    assert ours <= 0.05 * 600
    assert greedy > 2 * ours
