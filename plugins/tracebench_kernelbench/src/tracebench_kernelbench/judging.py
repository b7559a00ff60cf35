"""Judges one source: builds it, runs it, compares its outputs with the truth, and says what to improve."""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracebench_core.contracts import Sandbox
from tracebench_kernelbench.building import build_kernel
from tracebench_kernelbench.driving import MEMORY_MB, Failure, Record, drive
from tracebench_kernelbench.fast import fast_metrics
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.problem import Problem
from tracebench_kernelbench.timing import Timing, compare_afresh

_NS_PER_MS = 1e6


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of one source. `score` is the speed-up that counts: 0 unless correct, 1 inside the noise band."""

    compiled: bool
    correct: bool
    text: str
    status: Literal["ok", "invalid", "timeout"] = "invalid"
    score: float = 0.0
    metrics: dict[str, float] = field(default_factory=dict)


def judge(problem: Problem, source: str, sandbox: Sandbox, effort: Effort) -> Verdict:
    """Judge a source.

    Raises:
        NotMeasured: when something other than the source fails.
        SandboxUnavailableError: when the sandbox cannot be reached.
    """
    built = build_kernel(sandbox, source, problem.signature, seconds=effort.compile_seconds)
    if not built.binary:
        return bad(f"It does not compile.\n{built.words}", compiled=False)
    record = drive(sandbox, problem, built.binary, effort)
    if (wrong := _first_lie(problem, record)) is not None:
        return bad(wrong)
    if record.failure is not None:
        status: Literal["invalid", "timeout"] = "timeout" if record.failure.kind == "hang" else "invalid"
        return bad(_explain(record.failure, problem, effort), status=status)
    return _good(problem, record)


def bad(text: str, *, compiled: bool = True, status: Literal["invalid", "timeout"] = "invalid") -> Verdict:
    """Return the verdict of a kernel that is worth nothing."""
    zero = {"correct": 0.0, "speedup": 0.0, **fast_metrics(0.0)}
    return Verdict(compiled, False, text, status, metrics={"compiled": float(compiled), **zero})  # noqa: FBT003


def metrics_of(timing: Timing) -> dict[str, float]:
    """Return the metrics of a right kernel whose times are known; times are in milliseconds."""
    return {
        "compiled": 1.0,
        "correct": 1.0,
        "speedup": timing.score,
        **fast_metrics(timing.score),
        "speedup_raw": timing.raw,
        "noise": timing.noise,
        "reference_ms": timing.reference / _NS_PER_MS,
        "candidate_ms": timing.candidate / _NS_PER_MS,
    }


def sentence_of(timing: Timing, clock: str, calls: int) -> str:
    """Return what was measured by turns, in words; `clock` says of what, such as `Processor time`."""
    counted = ": inside the noise, so it counts as 1" if timing.score == 1.0 else ""
    return (
        f"Correct in all calls. {clock} of a call, median (least) of {calls} by turns: reference {_ms(timing.reference)} "
        f"({_ms(timing.reference_least)}), this kernel {_ms(timing.candidate)} ({_ms(timing.candidate_least)}). "
        f"Speed-up {timing.raw:.3f}, noise ±{100 * timing.noise:.1f} %{counted}."
    )


def _good(problem: Problem, record: Record) -> Verdict:
    timing = compare_afresh(record.spent)
    limits = {"memory": record.copy, "arithmetic": problem.flops / record.rate}
    bound = max(limits, key=lambda name: limits[name])
    share = limits[bound] / timing.candidate
    wall = median(one / other for one, other in record.wall)
    calls = sum(map(len, record.spent))
    text = (
        f"Correct in all {calls} timed calls. CPU time of a call, median (least) by turns in {len(record.spent)} pairs of processes: "
        f"reference {_ms(timing.reference)} ({_ms(timing.reference_least)}), this kernel {_ms(timing.candidate)} "
        f"({_ms(timing.candidate_least)}). Speed-up {timing.raw:.3f}, noise ±{100 * timing.noise:.1f} %"
        f"{': inside the noise, so it counts as 1' if timing.score == 1.0 else ''}. "
        f"One core of this machine needs at least {_ms(limits[bound])} for it (bound by {bound}): this kernel reaches "
        f"{100 * share:.0f} % of that."
    )
    metrics = metrics_of(timing) | {"speedup_wall": wall, "roofline": share}
    return Verdict(True, True, text, "ok", timing.score, metrics)  # noqa: FBT003


def _first_lie(problem: Problem, record: Record) -> str | None:
    """Compare the picked outputs with the truth; return what is wrong with the first that is not it."""
    for turn, got in sorted(record.outputs.items()):
        want = problem.expected(record.seeds[turn])
        with np.errstate(invalid="ignore"):
            near = np.abs(got.astype(np.float64) - want) <= problem.atol + problem.rtol * np.abs(want)
            right = near & np.isfinite(got) & np.isfinite(want)
        if not right.all():
            first = int(np.argmin(right))
            lead = f"{int((~right).sum())} of {want.size} values are wrong in call {turn + 1}"
            return f"{lead}; the first is {_at(problem, first)} = {got[first]:.9g}, expected {want[first]:.9g}{_unset(got, first)}."
    return None


def _unset(got: NDArray[Any], first: int) -> str:
    poison = got.dtype.kind == "f" and math.isnan(got[first])
    return " (NaN is what the output holds before the call)" if poison else ""


def _at(problem: Problem, index: int) -> str:
    place = np.unravel_index(index, problem.output.shape)
    return f"{problem.output.name}[{', '.join(map(str, place))}]"


def _explain(failure: Failure, problem: Problem, effort: Effort) -> str:
    call = f"in call {failure.round + 1}" if failure.round >= 0 else "while it was loaded"
    words = {
        "hang": f"It took longer than {effort.call_seconds:g} s {call}.",
        "mutated": f"It changed its inputs {call}; they are constant.",
        "overrun": f"It wrote beyond the end of `{problem.output.name}` {call}.",
        "symbol": f"It compiles, and defines no function `{problem.signature}`: name and types must be these.",
        "library": "It compiles, and cannot be loaded: a function that it calls is in none of the C and C++ libraries.",
        "exit": f"Its process ended {call}; a kernel returns.",
    }
    if failure.kind == "differs":
        index, got, want = failure.details
        return (
            f"Wrong {call}: {_at(problem, int(index))} = {got:.9g}, expected {want:.9g}. Each call has inputs of its own, "
            "and every output is checked."
        )
    if failure.kind == "crash":
        return (
            f"It crashed with {signal.Signals(int(failure.details[0])).name} {call}. A kernel has {MEMORY_MB} MB, one thread, and no "
            "further process; an index out of range is the usual cause."
        )
    return words[failure.kind]


def _ms(nanoseconds: float) -> str:
    return f"{nanoseconds / _NS_PER_MS:.4g} ms"
