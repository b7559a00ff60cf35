"""The statistics against other implementations, and exactly: over all coins, on series that nobody chose the rules by."""

from __future__ import annotations

import itertools
import math
import random
import re
from collections.abc import Callable, Iterator

import pytest

from tracebench_autoresearch.statistics.drift import Drift
from tracebench_autoresearch.statistics.effect import effect
from tracebench_autoresearch.statistics.evidence import RunLevel, false_share_held, sign_flip_probability
from tracebench_autoresearch.trainer.judging import PairedTrial


def cauchy(rng: random.Random) -> Iterator[float]:
    while True:
        yield math.tan(math.pi * (rng.random() - 0.5))


def counts(rng: random.Random) -> Iterator[float]:
    while True:
        yield float(sum(rng.random() < 0.1 for _ in range(15)))


def period_of_three(rng: random.Random) -> Iterator[float]:
    for level in itertools.cycle((0.0, 5.0, 1.0)):
        yield level + rng.gauss(0, 0.01)


def leaking(rng: random.Random) -> Iterator[float]:
    """It slows down more and more, and its width comes and goes."""
    for step in itertools.count():
        yield -0.00004 * step**2 + rng.gauss(0, 0.1 + step % 37 / 10)


Noise = Callable[[random.Random], Iterator[float]]
NOISES: tuple[Noise, ...] = (cauchy, counts, period_of_three, leaking)


class Coins(random.Random):
    """Falls as it is told."""

    def __init__(self, falls: tuple[float, ...]) -> None:
        super().__init__(0)
        self._falls = iter(falls)

    def random(self) -> float:
        return next(self._falls)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_evidence_when_the_trial_stops_is_one_on_average_over_all_coins(noise: Noise, seed: int) -> None:
    """For any one series of measurements in time, whenever the trial stops looking: half of the coins undo what the others win."""
    drawn = [*itertools.islice(noise(random.Random(seed)), 24)]
    found, stopped = [], set()
    for falls in itertools.product((0.0, 0.9), repeat=10):
        series = iter(drawn)
        rule = PairedTrial(Coins(falls), experiments=1, max_repeats=10)
        rule.drift = Drift(random.Random(0))
        rule.start([next(series) for _ in range(4)])
        ruling = rule.judge(lambda s=series: next(s), lambda s=series: next(s))  # type: ignore[misc]
        told = re.search(r"evidence (\S+) of", ruling.reason)
        assert told is not None
        found.append(float(told[1]))
        stopped.add(ruling.runs)

    assert len(stopped) > 2, "it always stops at the same time"
    assert sum(found) / len(found) == pytest.approx(1.0, rel=5e-3), "each is told with three digits"


@pytest.mark.parametrize("tests", [1, 7, 50])
def test_the_levels_of_a_run_that_keeps_nothing_add_up_to_the_whole(tests: int) -> None:
    level = RunLevel(alpha=0.05, tests=tests)

    assert sum(1 / level.needed for _ in range(tests)) == pytest.approx(0.05)


@pytest.mark.parametrize("noise", NOISES)
def test_no_more_runs_keep_an_edit_that_changes_nothing_than_is_allowed(noise: Noise) -> None:
    struck = 0
    for seed in range(100):
        series, rule = noise(random.Random(seed)), PairedTrial(random.Random(1000 + seed), experiments=10)
        rule.start([next(series) for _ in range(4)])
        verdicts = [rule.judge(lambda s=series: next(s), lambda s=series: next(s)).verdict for _ in range(10)]  # type: ignore[misc]
        struck += "accepted" in verdicts

    assert struck <= 5


def differences(rng: random.Random) -> list[float]:
    draw = rng.choice([lambda: rng.gauss(0.3, 1), lambda: float(rng.randint(-2, 3)), lambda: rng.gauss(0, 1) ** 3])
    return [draw() for _ in range(rng.randint(6, 11))]


def test_sign_flips_are_those_of_another_library() -> None:
    stats, rng = pytest.importorskip("scipy.stats"), random.Random(1)
    for found in (differences(rng) for _ in range(12)):
        other = stats.permutation_test(
            (found,), sum, permutation_type="samples", alternative="greater", n_resamples=math.inf, vectorized=False
        )
        assert sign_flip_probability(found) == pytest.approx(other.pvalue)


def test_what_is_called_false_is_what_another_library_calls_so() -> None:
    stats, rng = pytest.importorskip("scipy.stats"), random.Random(2)
    for size in (1, 2, 5, 20):
        for _ in range(50):
            found = {f"c{n}": rng.choice([rng.random() ** 4, 1 / 256, 2 / 256, 1.0]) for n in range(size)}
            adjusted = stats.false_discovery_control([*found.values()])
            assert false_share_held(found, 0.05) == {c for c, p in zip(found, adjusted, strict=True) if p <= 0.05}
    assert false_share_held({}, 0.05) == frozenset()
    assert false_share_held({"a": 0.01, "b": 0.04, "c": 0.9, "d": 0.03}, 0.05) == {"a"}


def test_intervals_are_those_that_the_signed_ranks_of_another_library_allow() -> None:
    stats, rng = pytest.importorskip("scipy.stats"), random.Random(3)
    for n in (6, 7, 8, 12, 16):
        found = [rng.gauss(0, 1) for _ in range(n)]
        size = effect(found)
        assert size.low is not None
        assert size.high is not None
        for place, allowed in ((size.low, (False, True)), (size.high, (True, False))):
            told = [
                stats.wilcoxon([d - place - step for d in found], method="exact").pvalue > 0.05
                for step in (-1e-9, 1e-9)
            ]
            assert tuple(told) == allowed


@pytest.mark.parametrize("noise", [cauchy, counts, period_of_three])
def test_intervals_of_what_nobody_chose_hold_the_truth_as_often_as_they_say(noise: Noise) -> None:
    """Two measurements of a round, in an order drawn by chance, one of them worth 2 more."""
    coin, series, held = random.Random(7), noise(random.Random(7)), 0
    for _ in range(400):
        found = []
        for _ in range(8):
            pair = next(series), next(series)
            found.append(2.0 + (pair[1] - pair[0]) * coin.choice((-1, 1)))
        size = effect(found)
        assert size.low is not None
        assert size.high is not None
        held += size.low - 1e-9 <= 2.0 <= size.high + 1e-9

    assert held >= 0.93 * 400
