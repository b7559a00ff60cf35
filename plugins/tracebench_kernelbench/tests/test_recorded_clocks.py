"""What is made of times: recorded clocks, and no clock of the machine that runs the tests."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tracebench_core.contracts import NotMeasured
from tracebench_core.specs import Limits
from tracebench_kernelbench.driving import Record
from tracebench_kernelbench.judging import _good
from tracebench_kernelbench.modules.backends import NUMBA
from tracebench_kernelbench.modules.memory import (
    ARENA,
    INPUTS,
    TOLD,
    Unreadable,
    places,
    say,
    told,
)
from tracebench_kernelbench.modules.stepping import LARGE_NOISE, judge_python, timing_of
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.timing import LEAST_NOISE, Timing, compare, compare_afresh

WOBBLE = (1.0, 1.02, 0.99, 1.3, 1.0, 1.01, 0.98, 1.0, 1.03, 0.97)
"""Of a machine that others use, too."""
IDLE = [12e-6] * len(WOBBLE)


def turns(reference: float, candidate: float, *, handing: float = 12e-6) -> list[tuple[float, float]]:
    return [
        (reference * one + handing, candidate * other + handing)
        for one, other in zip(WOBBLE, WOBBLE[::-1], strict=True)
    ]


@pytest.mark.parametrize("times", [1, 2, 5, 10])
def test_work_done_so_often_is_worth_as_much_less(times: int) -> None:
    timing = timing_of([turns(1e-3, times * 1e-3)], IDLE)

    assert 1 / (1 + timing.noise) <= timing.raw * times <= 1 + timing.noise
    assert timing.score == (1.0 if times == 1 else timing.raw)
    assert timing.noise < 0.1


def test_what_pages_are_worth_to_a_module_that_reads_memory_lies_within_its_noise() -> None:
    """The ratios of one of 330 MB to itself."""
    for ratio in (1.142, 1.146, 1.045, 1.143, 1.028):
        recorded = [turns(70e-3, 70e-3 / ratio)]
        assert timing_of(recorded, IDLE, least=LARGE_NOISE).score == 1.0
    assert timing_of([turns(70e-3, 70e-3 / 1.142)], IDLE).score > 1.1, "it would have counted"
    assert timing_of([turns(70e-3, 35e-3)], IDLE, least=LARGE_NOISE).score > 1.9


def test_what_a_lighter_handing_over_gains_lies_within_the_noise() -> None:
    mine = [(1e-3 + 12e-6, 1e-3) for _ in WOBBLE]

    assert timing_of([mine], IDLE).score == 1.0


@pytest.mark.parametrize(
    "spent",
    [turns(0.0, 0.0), turns(0.0, 1e-3), turns(30e-6, 1e-3)],
    ids=["no work", "none of the reference's", "work of twice the handing over"],
)
def test_what_is_below_the_resolution_is_not_measured(spent: list[tuple[float, float]]) -> None:
    with pytest.raises(NotMeasured, match="too little to be timed"):
        timing_of([spent], IDLE)


@pytest.mark.parametrize(
    "spent",
    [[(0.0, 0.0)] * 10, [(1e-3, 0.0 if turn % 4 else 4e-3) for turn in range(40)], [(0.0, 1e-3)] * 10],
    ids=["that stands still", "that moves at ticks", "of the reference that stands still"],
)
def test_a_clock_is_not_believed(spent: list[tuple[float, float]]) -> None:
    with pytest.raises(NotMeasured, match="stands still"):
        timing_of([spent], IDLE)


def test_who_comes_second_in_a_round_gains_nothing() -> None:
    """As recorded of `spmv` against itself: whoever came second took 62 and not 78 microseconds."""
    first = [78_700, 77_900, 78_300, 115_000, 78_100, 79_200, 77_800, 78_500, 78_000, 77_600]
    second = [62_000, 61_400, 62_300, 61_800, 62_100, 104_000, 61_500, 62_200, 61_900, 62_400]
    rounds = list(zip(first, second, strict=True))
    mine = [pair if turn % 2 else pair[::-1] for turn, pair in enumerate(rounds)]

    timing = compare(*([pair[side] for pair in mine] for side in (0, 1)))

    assert timing.raw == pytest.approx(1.0, abs=0.01)
    assert timing.noise < 0.04


@pytest.mark.parametrize("first", [0, 1])
def test_work_that_a_call_leaves_to_the_next_is_counted_in_full(first: int) -> None:
    """A thread goes on after its call has ended, while the reference works, and its time is seen at the end of the next call."""
    mine = [(1e-3, 1.95e-3 if turn % 2 == first else 0.05e-3) for turn in range(20)]

    timing = timing_of([mine], IDLE)

    assert timing.raw == pytest.approx(1.0)
    assert timing.score == 1.0


def test_noise_holds_what_is_no_work_of_a_kernel() -> None:
    plain, handed = compare([1000] * 9, [1000] * 9), compare([1000] * 9, [1000] * 9, handing=50)

    assert handed.noise == pytest.approx(plain.noise + 0.05)


def memory_of(text: Any, size: int | None = None) -> memoryview:
    shared = memoryview(bytearray(INPUTS + 4096))
    data = text if isinstance(text, bytes) else json.dumps(text).encode()
    shared[TOLD : TOLD + 4] = (len(data) if size is None else size).to_bytes(4, "little")
    shared[TOLD + 4 : TOLD + 4 + len(data)] = data
    return shared


@pytest.mark.parametrize(
    "rows",
    [
        None, 3, {"a": 1}, [3], [[1, 2]], [[0, "float32", 4, 1]], [[0, "float32", [4], [1, 1]]], [[0, "float32", ["4"], [1]]],
        [[0, "object", [4], [1]]], [[0, "bfloat16", [4], [1]]], [[0, ["float32"], [4], [1]]], [[-8, "float32", [4], [1]]],
        [[INPUTS + 4090, "float32", [4], [1]]], [[0, "float32", [1 << 40], [0]]], [[0, "float32", [2, 2], [1 << 40, 1]]],
        [[0, "float32", [4], [-8]]], [[1 << 62, "int8", [4], [1]]], [[0, "int8", [1] * 65, [1] * 65]], [[None, "int8", [1], [1]]],
        [[True, "int8", [1], [1]]], b"", b"[", b"[" * 20000, b"\xff",
    ],
)  # fmt: skip
def test_a_description_of_no_output_is_refused(rows: Any) -> None:
    with pytest.raises(Unreadable):
        told(memory_of(rows))


@pytest.mark.parametrize(
    "rows", [[[0, "float64", [1 << 29], [0]]], [[0, "int8", [1 << 28], [0]]] * 9], ids=["one", "many"]
)
def test_outputs_larger_than_memory_are_not_copied(rows: Any) -> None:
    with pytest.raises(Unreadable, match="larger than the memory"):
        told(memory_of(rows))


@pytest.mark.parametrize(
    "rows",
    [
        [[0, "float64", [-(1 << 29)], [0]], [0, "float64", [1 << 29], [0]]],
        [[0, "float64", [-1, 1 << 29], [0, 0]]],
        [[0, "int8", [-2, -2], [0, 0]]],
        [[INPUTS, "int8", [4], [-1]]],
        [[0, "int8", [1 << 49, 0], [0, 0]]],
    ],
    ids=["another one's", "its own", "twice", "backwards", "beside none"],
)
def test_no_length_or_step_is_negative_or_beyond_all_memory(rows: Any) -> None:
    with pytest.raises(Unreadable, match="returns no tensors"):
        told(memory_of(rows))


def test_a_description_of_any_length_is_read_no_further_than_its_room() -> None:
    with pytest.raises(Unreadable):
        told(memory_of(b"[]", size=2**32 - 1))


def test_outputs_are_read_as_they_lie_and_are_nobody_elses_any_more() -> None:
    shared = memory_of([[INPUTS, "float32", [2, 3], [1, 2]], [0, "int64", [0, 4], [4, 1]]])
    np.frombuffer(shared, np.float32, 6, INPUTS)[:] = np.arange(6)

    read, empty = told(shared)
    shared[INPUTS : INPUTS + 24] = bytes(24)

    assert read.tolist() == [[0, 2, 4], [1, 3, 5]]
    assert (empty.shape, empty.dtype) == ((0, 4), np.int64)


def test_inputs_begin_on_pages_of_their_own_and_fit() -> None:
    assert places([1, 4096, 4097, 0]) == [INPUTS, INPUTS + 4096, INPUTS + 8192, INPUTS + 16384]
    huge = np.broadcast_to(np.zeros(1, np.int8), (ARENA,))
    with pytest.raises(NotMeasured, match="gibibyte"):
        say(memoryview(bytearray(16)), [huge])
    with pytest.raises(NotMeasured, match="cannot be handed over"):
        say(memoryview(bytearray(INPUTS)), [object()])


def pairs_of(logs: list[float]) -> tuple[list[int], list[int]]:
    """Return times by turns whose figures, each of two turns, are these logarithms."""
    doubled = [log for log in logs for _ in range(2)]
    return [round(1e9 * math.exp(log)) for log in doubled], [10**9] * len(doubled)


@pytest.mark.parametrize(
    ("logs", "noise"),
    [
        # nine figures, half of them within .02 of the median: 3 * 1.2533 * 1.4826 * .02 / 3, and e to that, less 1
        ([step / 100 for step in range(-4, 5)], 0.03786),
        ([step / 10 for step in range(-4, 5)], 0.45009),
        # four times as many figures tell twice as well
        ([step / 10 for step in range(-4, 5) for _ in range(4)], 0.20420),
        ([0.0] * 9, LEAST_NOISE),
    ],
)
def test_the_noise_is_three_standard_errors_of_the_median(logs: list[float], noise: float) -> None:
    timing = compare(*pairs_of(logs))

    assert timing.raw == pytest.approx(1.0)
    assert timing.noise == pytest.approx(noise, abs=1e-5)


@pytest.mark.parametrize(("beyond", "score"), [(0.99, 1.0), (1.01, None)])
def test_a_speed_up_counts_from_three_standard_errors_on(beyond: float, score: float | None) -> None:
    logs = [step / 10 for step in range(-4, 5)]
    middle = beyond * math.log1p(compare(*pairs_of(logs)).noise)
    timing = compare(*pairs_of([middle + log for log in logs]))

    assert timing.raw == pytest.approx(math.exp(middle))
    assert timing.score == (timing.raw if score is None else score)


@pytest.mark.parametrize(
    ("copy", "rate", "bound", "share"), [(40.0, 0.5, "arithmetic", 0.5), (160.0, 0.5, "memory", 0.8)]
)
def test_a_kernel_is_bound_by_whichever_takes_longer(copy: float, rate: float, bound: str, share: float) -> None:
    """50 operations at .5 a nanosecond take 100 ns; a call took 200 ns."""
    record = Record(seeds=(), spent=[[(300, 200)] * 2] * 9, wall=[(300, 200)], copy=copy, rate=rate)
    verdict = _good(replace(next(iter(PROBLEMS.values())), flops=50.0), record)

    assert f"(bound by {bound})" in verdict.text
    assert verdict.metrics["roofline"] == pytest.approx(share)
    assert (verdict.score, verdict.metrics["fast_1"], verdict.metrics["fast_2"]) == (pytest.approx(1.5), 1.0, 0.0)


def test_the_noise_of_unlike_processes_reaches_to_the_farthest_of_them() -> None:
    def of(ratios: list[float]) -> Timing:
        return compare_afresh([[(round(1e9 * ratio), 10**9)] * 2 for ratio in ratios])

    assert of([2.0] * 8 + [2.5]).noise == pytest.approx(0.25)
    assert of([2.0] * 9).noise == LEAST_NOISE
    assert of([2.0] * 5).noise == 0.25  # too few to tell


def test_code_that_lies_elsewhere_in_each_session_is_told_as_noise() -> None:
    """As recorded of `embedding_bag` with Numba: 0.40 or 0.60 ms, by where its code lies; within one session nothing shows."""
    quick, slow = turns(0.5e-3, 0.4e-3), turns(0.5e-3, 0.6e-3)

    one, several = timing_of([quick], IDLE), timing_of([quick, slow, slow, quick, slow, quick, slow], IDLE)

    assert one.noise < 0.1
    assert several.raw == pytest.approx(0.5 / 0.6, rel=0.05)
    assert several.noise > 0.4
    assert several.score == 1.0


def test_rounds_are_divided_among_sessions_by_twos() -> None:
    effort = Effort(least=20, most=60, budget_ms=300)

    assert effort.divided(1) == effort
    assert effort.divided(7) == effort.model_copy(update={"least": 4, "most": 10, "budget_ms": 42})


def test_a_reference_has_time_for_the_calls_of_all_sessions() -> None:
    given = list[float]()

    def opened(sandbox: Any, limits: Limits) -> Any:
        given.append(limits.seconds)
        raise NotMeasured("enough")

    exercise: Any = SimpleNamespace(backend=NUMBA, shared_mb=1, open_desk=opened, room=lambda limits, _: limits)
    effort = Effort(warm=50, least=14, most=14, call_seconds=2.0, compile_seconds=30.0)
    with pytest.raises(NotMeasured, match="enough"):
        judge_python(exercise, "", cast("Any", None), effort)
    assert given == [30.0 + 2.0 * 7 * (50 + 2)]
