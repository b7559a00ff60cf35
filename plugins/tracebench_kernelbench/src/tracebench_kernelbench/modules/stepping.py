"""Judges a candidate in Python: a session for it, one for the reference, and calls by turns on inputs that nobody has seen before.

Time is the processor time of a session's whole process from the end of one call to the end of the next, as the operating system counts it:
whatever a candidate does between calls counts. What it takes to hand over inputs and outputs, the reference's process tells: it is the rest
of its own processor time, and is taken off both sides.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from tracebench_core.contracts import NotMeasured, Sandbox, Session
from tracebench_core.specs import Limits, Outcome
from tracebench_kernelbench.judging import Verdict
from tracebench_kernelbench.modules.exercise import Exercise, asked, differs
from tracebench_kernelbench.modules.hints import find_hints
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.timing import Timing, compare

MEMORY_MB = 16_384
"""Of address space, most of which PyTorch's libraries take without using it."""
_FLOOR = 0.05
"""Times are told apart down to this share of what handing over takes."""


def judge_python(exercise: Exercise, source: str, sandbox: Sandbox, effort: Effort) -> Verdict:
    """Judge a source.

    Raises:
        NotMeasured: when the reference fails, or its output does not depend on its inputs.
    """
    rounds = effort.warm + effort.most
    limits = Limits(
        seconds=effort.compile_seconds + effort.call_seconds * rounds, memory_mb=MEMORY_MB, output_bytes=256 << 20
    )
    with exercise.open_reference(sandbox, limits) as desk, exercise.open_reference(sandbox, limits) as reference:
        _probe(exercise, desk)
        built = exercise.build(sandbox, source, effort.compile_seconds)
        if built.words:
            return _bad(f"It does not build.\n{built.words}", Outcome(status="error"))
        candidate, loaded = exercise.open_candidate(sandbox, source, built, desk, limits)
        with candidate:
            if loaded.status != "ok":
                return _bad(_died(loaded, "while it was loaded"), loaded)
            return _judge(exercise, source, _Sessions(desk, reference, candidate), effort)


@dataclass(frozen=True)
class _Sessions:
    """Three processes. What the reference is asked is what the candidate is asked, so their times mean the same."""

    desk: Session
    """Draws inputs."""
    reference: Session
    candidate: Session


def _judge(exercise: Exercise, source: str, sessions: _Sessions, effort: Effort) -> Verdict:
    spent, handing = list[tuple[float, float]](), list[float]()
    certain = effort.warm + effort.least
    picks = set(secrets.SystemRandom().sample(range(certain), min(effort.trials, certain)))
    for turn in range(effort.warm + (effort.most if exercise.backend.timed else effort.trials)):
        seed = secrets.randbits(63)
        inputs = exercise.draw(seed, sessions.desk)
        want = sessions.reference.call(*inputs) if turn % 2 == 0 else None
        got = sessions.candidate.call(*inputs, entry="_judge_work")
        want = want or sessions.reference.call(*inputs)
        outputs, work = asked(want)
        call = f"in call {turn + 1}"
        if got.status != "ok":
            return _bad(_died(got, call), got)
        truth = exercise.truth(seed) if turn in picks else None
        slack = 1.0 if truth is not None else exercise.slack
        wrong = differs(got.value, truth or outputs, rtol=slack * exercise.rtol, atol=slack * exercise.atol)
        if wrong is not None:
            return _bad(f"Wrong {call}: {wrong}. Each call has inputs of its own, and every output is checked.", got)
        if turn >= effort.warm:
            spent.append((_seconds(want), _seconds(got)))
            handing.append(max(_seconds(want) - float(work), 0.0))
            if len(spent) >= effort.least and 1000 * sum(map(sum, spent)) > effort.budget_ms:
                break
    return _good(exercise, source, _timing(spent, handing) if exercise.backend.timed else None, len(spent))


def _probe(exercise: Exercise, reference: Session) -> None:
    """Refuse a problem whose output a constant could stand for."""
    one, other = (asked(reference.call(*exercise.draw(seed, reference)))[0] for seed in (1, 2))
    if differs(one, other, rtol=exercise.rtol, atol=exercise.atol) is None:
        raise NotMeasured(
            "The output of this problem does not depend on its inputs: a constant would pass.", retry=False
        )


def _timing(spent: Sequence[tuple[float, float]], handing: Sequence[float]) -> Timing:
    """Compare reference and candidate, less what handing over takes; both were handed the same."""
    handed = median(handing)
    net = [
        [round(1e9 * max(seconds - handed, _FLOOR * handed)) for seconds in side] for side in zip(*spent, strict=True)
    ]
    return compare(*net)


def _seconds(outcome: Outcome) -> float:
    return outcome.seconds if outcome.cpu_seconds is None else outcome.cpu_seconds


def _died(outcome: Outcome, when: str) -> str:
    words = {
        "timeout": f"It took too long {when}.",
        "memory": f"It needs more memory than there is {when}.",
        "killed": f"Its process ended {when}: {outcome.error}",
        "forbidden": f"It did what is not allowed {when}: {outcome.error}",
    }
    return "\n".join(filter(None, [words.get(outcome.status, f"It failed {when}: {outcome.error}"), outcome.traceback]))


def _bad(text: str, outcome: Outcome) -> Verdict:
    zero = dict.fromkeys(("correct", "speedup", "fast_1", "fast_2"), 0.0)
    compiled = outcome.status in {"ok", "timeout", "killed", "memory"}
    status: Literal["invalid", "timeout"] = "timeout" if outcome.status == "timeout" else "invalid"
    return Verdict(compiled, False, text, status, metrics={"compiled": float(compiled), **zero})  # noqa: FBT003


def _good(exercise: Exercise, source: str, timing: Timing | None, calls: int) -> Verdict:
    hints = find_hints(source, exercise.backend.name)
    noted = "".join(f"\nHint: {hint}" for hint in hints)
    metrics = {"compiled": 1.0, "correct": 1.0, "hints": float(len(hints))}
    if timing is None:
        text = "Correct in all calls. No time is taken with this backend: what is right counts 1."
        return Verdict(True, True, text + noted, "ok", 1.0, metrics)  # noqa: FBT003
    text = (
        f"Correct in all calls. Processor time of a call, median (least) of {calls} by turns: reference {timing.reference / 1e6:.4g} ms "
        f"({timing.reference_least / 1e6:.4g} ms), this kernel {timing.candidate / 1e6:.4g} ms ({timing.candidate_least / 1e6:.4g} ms). "
        f"Speed-up {timing.raw:.3f}, noise ±{100 * timing.noise:.1f} %"
        f"{': inside the noise, so it counts as 1' if timing.score == 1.0 else ''}."
    )
    metrics |= {
        "speedup": timing.score, "fast_1": float(timing.score > 1), "fast_2": float(timing.score > 2), "speedup_raw": timing.raw,  # noqa: PLR2004
        "noise": timing.noise, "reference_ms": timing.reference / 1e6, "candidate_ms": timing.candidate / 1e6,
    }  # fmt: skip
    return Verdict(True, True, text + noted, "ok", timing.score, metrics)  # noqa: FBT003
