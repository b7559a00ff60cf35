"""fast_p against figures that come from elsewhere: KernelBench's own test of it, and a table counted by hand.

KernelBench's formula: of `n` kernels, those that are correct and whose baseline's time over their own is more than p, over `n`.
"""

from __future__ import annotations

from fractions import Fraction

import pytest

from tracebench_core.specs import Feedback
from tracebench_kernelbench import aggregates
from tracebench_kernelbench.fast import FAST, fast_metrics
from tracebench_kernelbench.judging import bad, metrics_of
from tracebench_kernelbench.timing import Timing, compare, compare_afresh
from tracebench_runs.events.ranking import aggregate_score

UPSTREAM = [
    ("10110", (0.1, 0.15, 0.2, 0.05, 0.3), (0.2, 0.15, 0.3, 0.01, 0.2), {"fast_1": 0.2, "fast_0_5": 0.4}),
    ("11110", (0.24, 0.31, 100.0, 0.0001, 0.3), (0.3, 0.3, 200.0, 0.0001, 0.3), {"fast_1": 0.2, "fast_0_5": 0.6}),
    ("00000", (0.1, 0.15, 0.2, 0.05, 0.3), (0.2, 0.15, 0.3, 0.01, 0.2), {"fast_1": 0.0, "fast_0_5": 0.0}),
]
"""Which are correct, times of the baseline and of the kernels, and what `test_fastp` of KernelBench expects at 423217d."""
TIES = {"2": (10, 5), "1.5": (9, 6), "1": (7, 7), "0.8": (8, 10), "0.5": (3, 6)}
"""By its ratio: the times of a kernel that is as fast as a threshold, to the bit, and so not faster."""
BY_HAND = {
    "fast_0": Fraction(6, 9),  # the five ties and the one of 3
    "fast_0_5": Fraction(5, 9),  # not the tie at 0.5
    "fast_0_8": Fraction(4, 9),
    "fast_1": Fraction(3, 9),
    "fast_1_5": Fraction(2, 9),
    "fast_2": Fraction(1, 9),  # only the one of 3
}
"""Of nine kernels: the five ties, one three times as fast, a wrong one, one that hangs, and one whose source does not compile."""


def _timed(baseline: float, own: float, *, noise: float = 0.0) -> Feedback:
    timing = Timing(baseline, baseline, own, own, raw=baseline / own, noise=noise)
    return Feedback(score=timing.score, metrics=metrics_of(timing))


def _wrong(status: str = "invalid") -> Feedback:
    verdict = bad("It is wrong.", status=status)  # type: ignore[arg-type]
    return Feedback(score=verdict.score, status=verdict.status, metrics=verdict.metrics)


def _fast(feedbacks: list[Feedback]) -> dict[str, float | None]:
    return {name: aggregate_score(feedbacks, 0.0, getattr(aggregates, name)) for name in FAST}


def _rates(feedbacks: list[Feedback]) -> dict[str, float]:
    """The same as KernelBench's rates are read from `results.json`: means of the metrics over tasks."""
    return {name: sum(f.metrics[name] for f in feedbacks) / len(feedbacks) for name in FAST}


@pytest.mark.parametrize(("correct", "baseline", "own", "expected"), UPSTREAM)
def test_the_figures_of_kernelbench_itself(
    correct: str, baseline: tuple[float, ...], own: tuple[float, ...], expected: dict[str, float]
) -> None:
    kernels = [
        _timed(one, other) if right == "1" else _wrong()
        for right, one, other in zip(correct, baseline, own, strict=True)
    ]
    for name, share in expected.items():
        assert _fast(kernels)[name] == pytest.approx(share, abs=1e-12)
        assert _rates(kernels)[name] == pytest.approx(share, abs=1e-12)


def test_six_thresholds_counted_by_hand_with_ties_and_kernels_that_are_wrong_or_missing() -> None:
    kernels = [_timed(*times) for times in TIES.values()]
    kernels += [_timed(9, 3), _wrong(), _wrong("timeout"), _wrong()]

    assert _fast(kernels) == {name: float(share) for name, share in BY_HAND.items()}
    assert _rates(kernels) == pytest.approx({name: float(share) for name, share in BY_HAND.items()})


def test_the_six_thresholds_are_those_of_the_paper() -> None:
    assert list(FAST.values()) == [0.0, 0.5, 0.8, 1.0, 1.5, 2.0]


@pytest.mark.parametrize("times", TIES.values(), ids=TIES)
@pytest.mark.parametrize("rounds", [2, 7, 20])
def test_a_tie_that_was_measured_is_not_faster(times: tuple[int, int], rounds: int) -> None:
    """A ratio is the median of logarithms: it must not come back a bit above what was measured."""
    baseline, own = (1_000_003 * time for time in times)
    exact = Fraction(baseline, own)
    one = compare([baseline] * rounds, [own] * rounds, least=0.0)
    afresh = compare_afresh([[(baseline, own)] * rounds] * 9, least=0.0)

    for timing in (one, afresh):
        assert fast_metrics(timing.score) == {name: float(exact > Fraction(str(p))) for name, p in FAST.items()}


def test_within_the_noise_a_kernel_is_as_fast_and_no_faster() -> None:
    near, beyond = _timed(1.04, 1.0, noise=0.05), _timed(1.06, 1.0, noise=0.05)

    assert (near.metrics["fast_1"], near.metrics["fast_0_8"]) == (0.0, 1.0)
    assert beyond.metrics["fast_1"] == 1.0


def test_of_what_was_not_measured_nothing_is_said() -> None:
    """Of a wrong kernel something is known; of one that nobody could measure, nothing: it is no 0."""
    unknown = Feedback(score=0.0, status="not_measured")

    assert set(_fast([_timed(9, 3), unknown]).values()) == {None}
    assert _fast([_timed(9, 3), _wrong()]) == dict.fromkeys(FAST, 0.5)
