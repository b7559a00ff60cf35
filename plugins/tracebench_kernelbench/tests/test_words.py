"""What a judge of kernels says, number by number and word by word, of records that stand here; nothing is built or run."""

from __future__ import annotations

import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from tracebench_core.contracts import NotMeasured
from tracebench_core.specs import Outcome
from tracebench_core.specs.events import CandidateSeen, EvaluationDone
from tracebench_kernelbench import aggregates
from tracebench_kernelbench.building import build, build_kernel
from tracebench_kernelbench.driving import MEMORY_MB, PAIRS, Failure, Record, _picked, _read, shared_out
from tracebench_kernelbench.judging import _explain, _first_lie, _good, bad, metrics_of, sentence_of
from tracebench_kernelbench.modules import memory
from tracebench_kernelbench.modules.backends import BACKENDS, NUMBA, TORCH
from tracebench_kernelbench.modules.comparing import Tolerance, differs, farthest, halved, jolted
from tracebench_kernelbench.modules.constants import read_constants, rewrite_constants
from tracebench_kernelbench.modules.hints import find_hints
from tracebench_kernelbench.modules.loops import loops_of
from tracebench_kernelbench.modules.source import Found, find_problems
from tracebench_kernelbench.modules.stepping import _bad, _died, _picks, timing_of
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.problem import Array, Problem
from tracebench_kernelbench.speedups import view
from tracebench_kernelbench.timing import Timing, compare, compare_afresh


def problem(**more: Any) -> Problem:
    given: dict[str, Any] = {
        "name": "twice", "title": "Twice", "inputs": (Array("x", (2, 3)), Array("i", (4,), "i", limit=9)), "output": Array("out", (2, 3)),
        "reference": lambda x, i: 2 * x, "source": "", "flops": 12.0, "rtol": 0.1, "atol": 0.01,
    }  # fmt: skip
    return Problem(**given | more)


TIMING = Timing(2e6, 1.5e6, 1e6, 0.5e6, 2.0, 0.0312)


def test_what_a_right_kernel_is_told() -> None:
    assert sentence_of(TIMING, "Processor time", 7) == (
        "Correct in all calls. Processor time of a call, median (least) of 7 by turns: reference 2 ms (1.5 ms), this kernel 1 ms (0.5 ms). "
        "Speed-up 2.000, noise ±3.1 %."
    )
    within = Timing(2e6, 1.5e6, 2e6, 0.5e6, 1.03, 0.0312)
    assert sentence_of(within, "Time", 7).endswith("Speed-up 1.030, noise ±3.1 %: inside the noise, so it counts as 1.")
    told = metrics_of(TIMING)
    assert (told["speedup"], told["speedup_raw"], told["noise"], told["reference_ms"], told["candidate_ms"]) == (
        2.0,
        2.0,
        0.0312,
        2.0,
        1.0,
    )
    assert (told["compiled"], told["correct"]) == (1.0, 1.0)
    assert {name for name, value in metrics_of(within).items() if name.startswith("fast") and value} == {
        name for name in told if name.startswith("fast") and aggregates.FAST[name] < 1
    }
    assert {name: told[name] for name in aggregates.FAST} == {name: float(p < 2) for name, p in aggregates.FAST.items()}


def test_what_bounds_a_kernel_of_our_own_is_told() -> None:
    record = Record(
        [1], spent=[[(2_000_000, 1_000_000)] * 2] * 6, wall=[(30, 10), (20, 10), (10, 10)], copy=4e5, rate=12 / 5e5
    )
    verdict = _good(problem(), record)
    assert verdict.text == (
        "Correct in all 12 timed calls. CPU time of a call, median (least) by turns in 6 pairs of processes: reference 2 ms (2 ms), this "
        "kernel 1 ms (1 ms). Speed-up 2.000, noise ±3.0 %. One core of this machine needs at least 0.5 ms for it (bound by arithmetic): "
        "this kernel reaches 50 % of that."
    )
    assert (verdict.compiled, verdict.correct, verdict.status, verdict.score) == (True, True, "ok", pytest.approx(2.0))
    assert (verdict.metrics["speedup_wall"], verdict.metrics["roofline"]) == (2.0, pytest.approx(0.5))
    record.copy, record.spent = 8e5, [[(1_000_000, 1_000_000)] * 2] * 6
    assert (
        "Speed-up 1.000, noise ±3.0 %: inside the noise, so it counts as 1. One core of this machine needs at least 0.8 ms for it (bound "
        "by memory)" in (_good(problem(), record).text)
    )


def test_what_is_worth_nothing() -> None:
    for compiled in (True, False):
        verdict = bad("x", compiled=compiled, status="timeout")
        assert (verdict.compiled, verdict.correct, verdict.text, verdict.status, verdict.score) == (
            compiled,
            False,
            "x",
            "timeout",
            0.0,
        )
        assert verdict.metrics == {
            "compiled": float(compiled),
            "correct": 0.0,
            "speedup": 0.0,
            **dict.fromkeys(aggregates.FAST, 0.0),
        }


EFFORT = Effort(call_seconds=1.5)


@pytest.mark.parametrize(
    ("failure", "words"),
    [
        (Failure("hang", 0), "It took longer than 1.5 s in call 1."),
        (Failure("hang", -1), "It took longer than 1.5 s while it was loaded."),
        (Failure("mutated", 2), "It changed its inputs in call 3; they are constant."),
        (Failure("overrun", 0), "It wrote beyond the end of `out` in call 1."),
        (Failure("symbol", -1),
        "It compiles, and defines no function `void kernel(const float* x, const int* i, float* out)`: name and types must be these."),
        (Failure("library", -1), "It compiles, and cannot be loaded: a function that it calls is in none of the C and C++ libraries."),
        (Failure("exit", 1), "Its process ended in call 2; a kernel returns."),
        (Failure("differs", 1, (4.0, 1.5, 2.25)),
         "Wrong in call 2: out[1, 1] = 1.5, expected 2.25. Each call has inputs of its own, and every output is checked."),
        (Failure("crash", 1, (11.0,)),
        (f"It crashed with SIGSEGV in call 2. A kernel has {MEMORY_MB} MB, one thread, and no further process; an "
         "index out of range is the usual cause.")),
    ],
)  # fmt: skip
def test_why_a_kernel_ended_is_told(failure: Failure, words: str) -> None:
    assert _explain(failure, problem(), EFFORT) == words


def test_the_first_output_that_is_not_the_right_one_is_told() -> None:
    own = problem()
    want = own.expected(7)
    near = want * 1.1 + 0.009 * np.sign(want)
    outputs = {3: near.astype(np.float32), 0: want.astype(np.float32)}
    assert _first_lie(own, Record([7] * 4, outputs=outputs)) is None
    outputs[3][4] += 1
    outputs[3][5] = np.nan
    first = f"out[1, 1] = {outputs[3][4]:.9g}, expected {want[4]:.9g}"
    assert (
        _first_lie(own, Record([7] * 4, outputs=outputs)) == f"2 of 6 values are wrong in call 4; the first is {first}."
    )
    outputs[0][:] = np.nan
    assert _first_lie(own, Record([7] * 4, outputs=outputs)) == (
        f"6 of 6 values are wrong in call 1; the first is out[0, 0] = nan, expected {want[0]:.9g} (NaN is what the output holds before "
        f"the call)."
    )


def test_what_the_driver_says_is_read_line_by_line() -> None:
    lines = [
        "roof 1.5 2.5",
        "pair 1 30 20 3 2",
        "pair 1 31 21 4 2",
        "pair 0 5 6 7 8",
        "out 4 AACAPwAAAEA=",
        "fail candidate differs 4 1 2.5",
    ]
    record = _read(lines, [1, 2], problem())
    assert record.spent == [[(5, 6)], [(30, 20), (31, 21)]]
    assert (record.wall, record.copy, record.rate) == ([(3, 2), (4, 2), (7, 8)], 1.5, 2.5)
    assert record.outputs[4].tolist() == [1.0, 2.0]
    assert record.failure == Failure("differs", 4, (1.0, 2.5))
    ints = problem(output=Array("out", (2,), "i", limit=3))
    assert _read(["out 0 AQAAAAIAAAA="], [1], ints).outputs[0].tolist() == [1, 2]
    with pytest.raises(NotMeasured, match=r"^The reference failed \(hang 3\)\.$"):
        _read(["fail reference hang 3"], [1], problem())


def test_rounds_are_shared_out_evenly_and_some_outputs_are_picked_of_the_first_pair() -> None:
    assert shared_out(Effort(least=5, most=2 * PAIRS)) == (2, 2)
    assert shared_out(Effort(least=2 * PAIRS + 1, most=4 * PAIRS)) == (4, 4)
    effort = Effort(trials=3, warm=4, least=8, most=8)
    for _ in range(20):
        picks = _picked(effort, 10)
        assert picks == sorted({*picks})
        assert (len(picks), picks[0] < 6) == (3, True)
        assert all(pick % 14 < 6 for pick in picks)
        assert max(picks) < 14 * PAIRS


def test_picks_of_each_session_are_turns_that_are_certain_to_be_taken() -> None:
    part = Effort(trials=5, warm=1, least=5, most=9)
    for wanted, kept in ((4, 4), (99, 12)):
        found = [*_picks(wanted, part, 2)]
        assert len(found) == 2
        assert sum(len(cast("set[int]", turns)) for turns in found) == kept
        assert {turn for turns in found for turn in cast("set[int]", turns)} <= {*range(6)}


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        ({"status": "timeout"}, "It took too long in call 3."),
        ({"status": "killed", "error": "by SIGKILL"}, "Its process ended in call 3: by SIGKILL"),
        ({"status": "forbidden", "error": "a file"}, "It did what is not allowed in call 3: a file"),
        ({"status": "error", "error": "x", "traceback": "line 1"}, "It failed in call 3: x\nline 1"),
        (
            {"status": "memory", "error": "x"},
            "It needs more memory than a candidate may take in call 3: the reference took 5 MB.",
        ),
    ],
)
def test_how_a_session_died(outcome: dict[str, Any], words: str) -> None:
    assert _died(Outcome(**outcome), "in call 3", 5) == words


@pytest.mark.parametrize(
    ("status", "compiled", "told"),
    [("ok", True, "invalid"), ("timeout", True, "timeout"), ("killed", True, "invalid"), ("memory", True, "invalid"),
    ("error", False, "invalid")],
)  # fmt: skip
def test_what_failed_was_compiled_where_it_was_run(status: Any, compiled: bool, told: str) -> None:
    verdict = _bad("x", Outcome(status=status))
    assert (verdict.compiled, verdict.status) == (compiled, told)


def test_times_of_few_and_of_many_pairs() -> None:
    one = compare([100, 110, 90, 100], [50, 55, 45, 50], handing=5)
    assert (one.reference, one.reference_least, one.candidate, one.candidate_least) == (100, 90, 50, 45)
    assert (one.raw, one.noise, one.score) == (pytest.approx(2.0), pytest.approx(0.03 + 0.1), pytest.approx(2.0))
    wide = compare([100, 100, 400, 400, 100, 100], [100] * 6)
    assert wide.noise == pytest.approx(0.03)  # the median of deviations is nothing
    spread = compare([100, 100, 110, 110, 90, 90, 120, 120], [100] * 8)
    deviation = (math.log(1.1) - math.log(0.9)) / 2
    middle = (math.log(1.0) + math.log(1.1)) / 2
    logs = sorted(abs(math.log(r) - middle) for r in (1.0, 1.1, 0.9, 1.2))
    assert deviation > 0
    assert spread.noise == pytest.approx(math.expm1(3 * 1.2533 * 1.4826 * (logs[1] + logs[2]) / 2 / 2))
    many = compare_afresh([[(100, 100)] * 2] * 4 + [[(120, 100)] * 2] * 2)
    assert (many.raw, many.noise) == (pytest.approx(1.0), pytest.approx(0.2))
    few = compare_afresh([[(100, 100)] * 2] * 3 + [[]])
    assert (few.raw, few.noise) == (1.0, 0.25)
    split = compare_afresh([[(100, 100)] * 6, [(102, 100)] * 6])
    assert (split.raw, split.noise) == (pytest.approx(1.02**0.5), pytest.approx(0.03))
    assert compare_afresh([[(100, 100)] * 2] * 6, handing=10, least=0.5).noise == pytest.approx(0.6)
    assert compare([0, 0], [0, 0], handing=0.5).noise == pytest.approx(0.53)
    edge = 1.25
    assert Timing(1, 1, 1, 1, edge, 0.25).score == 1.0
    assert Timing(1, 1, 1, 1, edge + 1e-9, 0.25).score == edge + 1e-9
    assert Timing(1, 1, 1, 1, 1 / edge, 0.2500001).score == 1.0


def test_what_is_too_little_to_be_timed_says_how_little() -> None:
    spent = [[(4e-6, 1e-6)] * 2]
    assert timing_of(spent, [1e-6]).reference == 4_000
    with pytest.raises(NotMeasured) as caught:
        timing_of(spent, [1.1e-6])
    assert str(caught.value) == (
        "The reference takes 4 µs a call, and one that does no work 1.1 µs: too little to be timed here, where 4 times that are needed."
    )
    several = timing_of([[(1e-3, 1e-3)] * 2] * 7, [1e-6], least=0.2)
    assert several.noise == pytest.approx(0.2 + 1e-3)


def test_a_problem_says_what_a_kernel_is_given() -> None:
    own = problem(
        inputs=(Array("x", (2, 3), low=0.5, high=2.0), Array("i", (4,), "i", limit=9), Array("p", (5,), "p", limit=4))
    )
    assert [array.order for array in own.arrays] == ["f:6:0.5:2.0", "i:4:9", "p:5:4", "f:6:-1.0:1.0"]
    assert own.signature == "void kernel(const float* x, const int* i, const int* p, float* out)"
    assert own.bytes == 4 * 21
    x, i, p = own.draw(3)
    assert (x.dtype, i.dtype, p.dtype, x.shape) == (np.float32, np.int32, np.int32, (2, 3))
    assert ((x >= 0.5) & (x < 2)).all()
    assert ((i >= 0) & (i < 9)).all()
    assert p[0] == 0
    assert ((np.diff(p) >= 0) & (np.diff(p) < 4)).all()
    assert [a.tolist() for a in own.draw(3)] == [x.tolist(), i.tolist(), p.tolist()]
    assert own.draw(4)[1].tolist() != i.tolist()
    assert problem(reference=lambda x, i: 0 * x).is_degenerate()
    assert not own.is_degenerate() if False else not problem().is_degenerate()


def test_numbers_that_are_drawn_are_those_of_the_generator() -> None:
    """SplitMix64, by counter: its first words from 0 are known (Vigna's splitmix64.c)."""
    (words,) = problem(inputs=(Array("i", (3,), "i", limit=1 << 31),)).draw(0)
    seed = 0xE220A8397B1DCDAF  # its first word, of place 0

    def mix(x: int) -> int:
        x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        x = (x ^ (x >> 27)) * 0x94D049BB133111EB % 2**64
        return x ^ (x >> 31)

    assert mix(0x9E3779B97F4A7C15) == seed
    assert words.tolist() == [mix((seed + n * 0x9E3779B97F4A7C15) % 2**64) >> 33 for n in (1, 2, 3)]


def test_many_speed_ups_are_made_one_number() -> None:
    assert aggregates.geometric_mean([4.0, 1.0, 0.0, 0.0], []) == pytest.approx(1.0)
    assert aggregates.geometric_mean([0.0], []) == aggregates.geometric_mean([], []) == 0.0
    name = min(aggregates.FAST, key=lambda one: abs(aggregates.FAST[one] - 1))
    share = getattr(aggregates, name)
    assert (share([1.0, 1.1, 0.0, 3.0], []), share([], [])) == (0.5, 0.0)
    with pytest.raises(AttributeError, match="there is no aggregate `fast_x`"):
        _ = aggregates.fast_x


def seen(number: int) -> CandidateSeen:
    return CandidateSeen(t="t", seq=number, step=0, id=f"c{number}", values={}, parents=(), origin="")


def done(number: int, status: str = "ok", **metrics: float) -> EvaluationDone:
    return EvaluationDone.model_construct(
        candidate=f"c{number}", example="p", status=status, metrics=metrics, score=0.0
    )


def test_the_chart_of_a_job_holds_what_was_timed_and_what_was_not() -> None:
    events = [
        seen(0), done(0, speedup_raw=1.0, noise=0.25), done(9, speedup_raw=1.0, noise=0.25), seen(1), done(1, status="invalid"),
        done(1, speedup_raw=0.0, noise=0.1), done(1, speedup_raw=2.0), done(1, speedup_raw=2.0, noise=0.05),
    ]  # fmt: skip
    run = cast("Any", SimpleNamespace(events=lambda job_id: events))
    chart = view(run, "j")
    assert chart is not None
    assert (chart["height"], len(chart["layer"])) == (320, 3)
    band, timed, wrong = (layer["data"]["values"] for layer in chart["layer"])
    assert band == [{"low": pytest.approx(1 / 1.15), "high": pytest.approx(1.15)}]
    head = {"problem": "p", "status": "ok"}
    assert timed == [
        head | {"number": 0, "candidate": "c0", "speedup": 1.0, "noise": 0.25, "low": 0.8, "high": 1.25},
        head
        | {"number": 1, "candidate": "c1", "speedup": 2.0, "noise": 0.05, "low": pytest.approx(2 / 1.05), "high": 2.1},
    ]
    none = {"speedup": None, "noise": None, "low": None, "high": None, "problem": "p", "candidate": "c1", "number": 1}
    assert wrong == [none | {"status": "invalid"}, none | {"status": "ok"}, none | {"status": "ok"}]
    scale = {"type": "log", "nice": False}
    assert chart["layer"][0]["encoding"] == {
        "y": {"field": "low", "type": "quantitative", "scale": scale},
        "y2": {"field": "high"},
    }
    assert chart["layer"][0]["mark"] == {"type": "rect", "color": "#8A8F98", "opacity": 0.25}
    axis = {"field": "number", "type": "quantitative", "title": "candidate", "axis": {"tickMinStep": 1, "format": "d"}}
    assert chart["layer"][1]["encoding"] == {"x": axis}
    assert chart["layer"][1]["layer"][1]["mark"] == {"type": "point", "filled": True, "size": 70, "color": "#0072B2"}
    assert chart["layer"][2]["encoding"]["y"] == {"value": 318}
    assert view(run, None) is None
    events[:] = events[:1] + events[4:5]
    assert view(run, "j") is None


TOLERANCE = Tolerance(0.1, 0.5)


def f32(*values: float) -> Any:
    return np.array(values, np.float32)


def test_what_is_allowed_and_what_differs() -> None:
    assert TOLERANCE.times(2) == Tolerance(0.2, 1.0, least=2e-6)
    assert TOLERANCE.around(f32(10, -10)).tolist() == [1.5, 1.5]
    scaled = Tolerance(0.0, 0.5, by_scale=True, least=0.125)
    with np.errstate(invalid="ignore"):
        allowed = [scaled.around(f32(*v))[0] for v in ((4.0,), (0.5,), (0.1,), (3.0, np.inf))]
    assert allowed == [0.5, 0.25, 0.125, 0.5]
    assert differs([f32(1)], [f32(1), f32(1)], TOLERANCE) == "it returns 1 arrays, and should return 2"
    assert differs([f32(1, 2)], [f32(1)], TOLERANCE) == "the output has the shape (2,), and should have (1,)"
    assert (
        differs([f32(1), f32(2).astype(np.float64)], [f32(1), f32(2)], TOLERANCE)
        == "output 2 is float64, and should be float32"
    )
    assert differs([f32(1.5, 11.4)], [f32(1, 10)], TOLERANCE) is None
    assert differs([f32(1, 11.6, 9)], [f32(1, 10, 5)], TOLERANCE) == (
        "2 of 3 values are wrong; the first is [1] = 11.6000004, expected 10"
    )
    assert differs([np.float32(3) + np.zeros((), np.float32)], [np.zeros((), np.float32)], TOLERANCE) == (
        "1 of 1 values are wrong; the first is [] = 3, expected 0"
    )
    assert differs([f32(np.nan, np.inf, -np.inf)], [f32(np.nan, np.inf, -np.inf)], TOLERANCE) is None
    for got, want in ((np.nan, 0.0), (np.inf, -np.inf), (1.0, np.inf)):
        assert differs([f32(got)], [f32(want)], TOLERANCE) is not None
    assert farthest([f32(10), np.array([1])], [f32(13), np.array([9])], TOLERANCE) == 2.0
    assert farthest([np.array([1])], [np.array([9])], TOLERANCE) == 0.0


def test_numbers_are_halved_and_jolted_bit_by_bit() -> None:
    whole = np.array([1], np.int32)
    values = [f32(1.0, 1 + 2**-10, 1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-20), whole]
    rounded, same = halved(values)
    assert rounded.tolist() == [1.0, 1 + 2**-10, 1.0, 1 + 2**-9, 1 + 2**-10]
    assert same is whole
    jolt, same = jolted([f32(1.0, 1 + 2**-23), whole])
    assert jolt.tolist() == [1 + 2**-23, 1.0]
    assert same is whole


CODE = (
    "a = 8\nb, c = 2 * 3, (1, 2)\nd = e = 2 ** 62\nf = 2 ** 63\ng = 7 // 0\nh = 7 // 2 - 1 + 4\n"
    "i = True\nj: int = 3\nk = -1\nl = 2 ** -1\nm = x * 2\n"
)


def test_constants_are_read_and_written_where_they_stand() -> None:
    assert read_constants(CODE) == {"a": 8, "b": 6, "d": 1 << 62, "e": 1 << 62, "h": 6}
    assert rewrite_constants("n = 8; m = (4 *\n  2)  # é\n", {"n": 1, "m": 16}) == "n = 1; m = (16)  # é\n"
    with pytest.raises(ValueError, match=r"^the code names no whole number `f`$"):
        rewrite_constants(CODE, {"f": 1, "z": 2})
    with pytest.raises(ValueError, match=r"^line 3 names several constants at once: they take one value$"):
        rewrite_constants(CODE, {"d": 1, "e": 2})
    assert "d = e = 5\n" in rewrite_constants(CODE, {"d": 5, "e": 5})


@pytest.mark.parametrize(
    ("source", "backend", "hints"),
    [
        ("import torch\ntry:\n    pass\nexcept: pass", "torch", ["it catches exceptions: it may fall back to something else"]),
        ("time.perf_counter = f", "torch", ["it assigns to a clock: no clock of its process is asked"]),
        ("time.sleep = f; x = 1", "torch", []),
        ("from threading.x import y\nimport gc.z, inspect", "torch_compile",
         ["it imports `threading`: the work of all threads is counted", "it imports `gc`: nothing of the judge lies in its process",
          "it imports `inspect`: nothing of the judge lies in its process"]),
        ("from . import x\nimport threading2", "torch", []),
        ("x.half()\nx.data_ptr()", "torch",
         ["it computes in a lower precision than its inputs have", "it looks at addresses: every call has fresh inputs"]),
        ("import triton\nF.relu(x)", "triton", ["it calls operators of PyTorch: the work may not be done by the kernel that it defines"]),
        ("import triton\nnn.Module\ntorch.nn.functional.relu(x)", "triton",
         ["it calls operators of PyTorch: the work may not be done by the kernel that it defines"]),
        ("import triton\nF.relu(x)", "torch", []),
        ("import torch", "cpp", ["it imports no `cpp_extension`"]),
        ("from torch.utils.cpp_extension import load_inline", "cpp", []),
        ("x = 1", "numba", ["it imports no `numba`"]),
        ("no python (", "numba", []),
        ("\0", "numba", []),
    ],
)  # fmt: skip
def test_what_a_source_looks_like_it_does(source: str, backend: str, hints: list[str]) -> None:
    assert find_hints(source, backend) == hints


LOOPS = """
#include <math.h>
enum { N = 4, STEP = 2 };
static float twice(float in) { return in * 2; }
void kernel(const float* x, const int* from, float* out) {
    float kept[N];
    int total = 0;
    for (int i = 0; i < N; i++, total++) {
        kept[i] = from[i] >= 1 ? twice(x[i]) : -1;
        if (kept[i] != INFINITY) { kept[i] += (float)1; }
    }
    for (int lambda = 1; lambda <= N - 1; ++lambda) out[lambda] = expf(kept[lambda] + total);
    memcpy(out, kept, sizeof kept);
    x += STEP;
    out[0] = (x + 1)[0] - (int)0.5f;
}
"""


def test_plain_c_becomes_loops_line_by_line() -> None:
    pytest.importorskip("pycparser")
    source = LOOPS.replace("(float)1", "1.0f")
    assert loops_of(source).partition("F = np.float32\n")[2] == (
        "N = 4\nSTEP = 2\n\n\n@numba.njit\ndef twice(in_):\n    return (in_ * F(2))\n\n@numba.njit\ndef once(x, from_, out):\n"
        "    kept = np.empty(N, np.float32)\n    total = 0\n    for i in range(0, N):\n"
        "        kept[i] = (F(twice(x[i])) if (from_[i] >= 1) else F((-1)))\n"
        "        if (kept[i] != F(np.inf)):\n            kept[i] += F(1.0)\n        total += 1\n"
        "    for lambda_ in range(1, (N - 1) + 1):\n        out[lambda_] = F(math.exp((kept[lambda_] + F(total))))\n"
        "    out[:N] = kept[:N]\n    x = x[STEP:]\n    out[0] = (x[1:][0] - F(int(F(0.5))))\n"
    )


def test_problems_are_found_by_level_and_number(tmp_path: Path) -> None:
    folder = tmp_path / "level1"
    folder.mkdir()
    for name in ("10_B.py", "2_A.py", "x_1.py", "3_C.txt"):
        (folder / name).write_text(name)
    row = '{"problem_id": %s, "name": "%s", "code": "c"%s}\n'
    lines = (
        row % (5, "5_Five.py", "")
        + row % (4, "Four", ', "level": 2')
        + row % (3, "T", ', "level": 3')
        + row % ("true", "U", "")
    )
    (tmp_path / "level_2.jsonl").write_text(lines)
    found = [*find_problems(tmp_path)]
    assert [(p.level, p.number, p.name, p.row) for p in found] == [
        (1, 2, "A", None), (1, 10, "B", None), (2, 4, "Four", 1), (2, 5, "Five", 0),
    ]  # fmt: skip
    assert [p.read() for p in found] == ["2_A.py", "10_B.py", "c", "c"]
    path = tmp_path / "level_3.jsonl"
    for text, words in (("{}\nx", "line 2: not JSON"), ("[1]", "line 1: not an object")):
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            [*find_problems(tmp_path)]
    path.write_text("{}\n{}")
    with pytest.raises(ValueError, match=r"line 2: no `code`$"):
        Found(3, 1, "x", path, 1).read()


class Shell:
    """Stands for the sandbox's command; what it answers is given."""

    def __init__(self, *answers: Outcome) -> None:
        self.answers, self.asked = [*answers], list[Any]()

    def command(self, argv: list[str], **given: Any) -> Outcome:
        self.asked.append((argv, given))
        return self.answers.pop(0)


def ended(code: int, stderr: str = "", stdout: str = "", status: str = "ok") -> Outcome:
    return Outcome(status=status, value={"returncode": code, "stderr": stderr, "stdout": stdout}, error="e")  # type: ignore[arg-type]


def test_what_a_compiler_says_comes_back_and_what_is_c_as_well_as_cplusplus_is_built_as_c() -> None:
    shell = Shell(ended(0, stdout="AA=="))
    assert build_kernel(cast("Any", shell), "x", "void k()", seconds=2.0).binary == "AA=="
    (argv, given) = shell.asked[0]
    assert argv[4:6] == ["gcc", "-std=gnu17"]
    assert given["files"] == {"signature.h": "void k();\n", "kernel.c": "x"}
    assert (
        given["limits"].seconds,
        given["limits"].memory_mb,
        given["limits"].output_bytes,
        given["limits"].file_mb,
    ) == (2.0, 4096, 8 << 20, 8)
    shell = Shell(ended(1, stderr=" a: error: 1\nb: error: 2"), ended(1, stderr="a: error: 1" + "x" * 4_000))
    assert build_kernel(cast("Any", shell), "x", "void k()").words == ("a: error: 1" + "x" * 4_000)[:3_000]
    assert shell.asked[1][1]["files"]["signature.h"] == '#define restrict __restrict__\nextern "C" void k();\n'
    built = build(cast("Any", Shell(Outcome(status="timeout"))), ["gcc"], {}, seconds=2.5)
    assert built.words == "The compiler was ended after 2.5 s (`compile_seconds`)."
    assert build(cast("Any", Shell(ended(0, status="memory"))), ["gcc"], {}, seconds=1).words == "e"
    for outcome, words in (
        (Outcome(status="error", error="gone"), "The compiler could not be run: gone"),
        (ended(127, stderr=" sh: gcc: not found "), "There is no compiler `gcc` on this machine: sh: gcc: not found"),
    ):
        with pytest.raises(NotMeasured) as caught:
            build(cast("Any", Shell(outcome)), ["gcc"], {}, seconds=1)
        assert str(caught.value) == words


def test_memory_that_is_shared_holds_what_is_said_of_inputs() -> None:
    shared = memoryview(bytearray(memory.INPUTS + (1 << 16)))
    arrays = [np.arange(3, dtype=np.float32), np.arange(2, dtype=np.int64)]
    for turn, steps in ((0, (0, 0)), (1, (39, 41)), (2, (14, 18))):
        memory.say(shared, [arrays[0], 5, arrays[1]], turn=turn)
        size = int.from_bytes(shared[memory.SAID : memory.SAID + 4], "little")
        said = bytes(shared[memory.SAID + 4 : memory.SAID + 4 + size]).decode()
        one, other = memory.INPUTS + 64 * steps[0], memory.INPUTS + 8192 + 64 * steps[1]
        assert said == f'[[{one}, "float32", [3]], {{"value": 5}}, [{other}, "int64", [2]]]'
        assert memory.take(shared, one, (3,), np.float32).tolist() == [0, 1, 2]
        assert memory.take(shared, other, (2,), np.int64).tolist() == [0, 1]
    assert memory.places([1, 4096, 4097, 0]) == [memory.INPUTS + 4096 * n for n in (0, 1, 2, 4)]
    for values, words in (([{1}], "An input of this problem cannot be handed over"), (["x" * 40_000], "are too many")):
        with pytest.raises(NotMeasured, match=words):
            memory.say(shared, values)


def test_a_backend_that_lacks_something_says_how_to_install_it() -> None:
    assert {name: (b.timed, b.sessions, b.ahead) for name, b in BACKENDS.items()} == {
        "torch": (True, 1, None), "torch_compile": (True, 1, "package"), "cpp": (True, 1, "extension"),
        "numba": (True, NUMBA.sessions, None),
        "triton": (False, 1, None),
    }  # fmt: skip
    assert TORCH.environ is None
