"""Judges a candidate in Python: a session for it, one for the reference, and calls by turns on inputs that nobody has seen before.

Time is the processor time of a session's whole process from the end of one call to the end of the next, as the operating system counts it
from outside: whatever a candidate does between calls counts. Both processes and the judge share one core, so that none runs while the
judge reads their clocks. Nothing is taken off: inputs and outputs lie in memory that the judge sees, too, and a call hands over nothing.
What a call that does no work takes, the reference's process shows; it is the clock's resolution, and part of the noise.

Where a compiler puts its code anew in each process, the place alone can be worth half a kernel's time: such a candidate has several
sessions, one after the other, and the time of each is one figure.
"""

from __future__ import annotations

import ctypes
import os
import secrets
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from tracebench_core.contracts import NotMeasured, Sandbox, Session
from tracebench_core.specs import Limits, Outcome
from tracebench_kernelbench.judging import Verdict, bad, metrics_of, sentence_of
from tracebench_kernelbench.modules import memory
from tracebench_kernelbench.modules.comparing import (
    Arrays,
    Tolerance,
    Tried,
    differs,
    halved,
    is_finite,
    is_single,
    jolted,
    made_strict,
)
from tracebench_kernelbench.modules.exercise import Exercise, asked, is_short
from tracebench_kernelbench.modules.hints import find_hints
from tracebench_kernelbench.modules.memory import IDLE, Unreadable
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.timing import Timing, compare, compare_afresh

MEMORY_MB = 16_384
"""Of address space, most of which PyTorch's libraries take without using it; more where a problem's own module needs more (`room`)."""
LEAST_NOISE = 0.05
"""What two processes may differ by that run one source, for where each of them puts what it makes."""
LARGE, LARGE_NOISE = 256 << 20, 0.2
"""The same where more bytes of weights than that lie in small pages: which ones a process happens to be given is worth a tenth and more to
who does little but read memory. Huge pages are worth the same to everyone; not every system has some."""
LEAST_MULTIPLE = 4
"""A reference must take so many times as long as a call without work."""


class ConstantOutput(NotMeasured):
    """The output does not depend on the inputs."""

    def __init__(self) -> None:
        super().__init__(
            "The output of this problem does not depend on its inputs: a constant would pass.", retry=False
        )


class TooShort(NotMeasured):
    """A call is too short to be timed here."""


def judge_python(exercise: Exercise, source: str, sandbox: Sandbox, effort: Effort) -> Verdict:
    """Judge a source.

    Raises:
        NotMeasured: when the reference fails or is too quick to be timed, when its output does not depend on its inputs, or where no
            process's time can be told.
    """
    part = effort.divided(exercise.backend.sessions)
    rounds = _rounds(exercise, part)
    with _on_one_core() as core:
        limits = Limits(
            seconds=effort.compile_seconds + effort.call_seconds * rounds,
            memory_mb=MEMORY_MB,
            shared_mb=exercise.shared_mb,
            core=core,
        )
        whole = effort.compile_seconds + effort.call_seconds * rounds * exercise.backend.sessions
        lasting = limits.model_copy(update={"seconds": whole})  # the reference lives through all sessions
        unknown = exercise.room(lasting, memory.machine_mb("MemTotal") // 4)
        with exercise.open_desk(sandbox, lasting) as desk, exercise.open_reference(sandbox, unknown) as reference:
            wide = _probe(exercise, desk, reference)
            tolerance, _ = _strictness(exercise, desk, reference, wide=wide)
            scattered, kilobytes = asked(exercise.settle(reference))
            least = LARGE_NOISE if scattered > LARGE else LEAST_NOISE
            needed = kilobytes >> 10
            limits = exercise.room(limits, needed)
            _require_memory(needed)
            built = exercise.build(sandbox, source, effort.compile_seconds)
            if built.words:
                return _bad(f"It does not build.\n{built.words}", Outcome(status="error"))
            spent, idle = list[list[tuple[float, float]]](), list[float]()
            for picks in _picks(effort.trials, part, exercise.backend.sessions):
                candidate, loaded = exercise.open_candidate(sandbox, source, built, desk, limits)
                with candidate:
                    if loaded.status != "ok":
                        return _bad(_died(loaded, "while it was loaded", needed), loaded)
                    three = _Sessions(desk, reference, candidate, wide, tolerance, needed)
                    turns = _by_turns(exercise, three, part, picks, idle)
                if isinstance(turns, Verdict):
                    return turns
                spent.append(turns)
            timing = timing_of(spent, idle, least=least) if exercise.backend.timed else None
            return _good(exercise, source, timing, sum(map(len, spent)))


def tells_half(exercise: Exercise, sandbox: Sandbox) -> bool:
    """Tell whether outputs of half precision are refused: not where so many numbers are averaged that their errors cancel.

    Raises:
        NotMeasured: as `judge_python` does.
    """
    limits = Limits(seconds=Effort().compile_seconds, memory_mb=MEMORY_MB, shared_mb=exercise.shared_mb)
    with exercise.open_reference(sandbox, limits) as reference:
        wide = _probe(exercise, reference, reference)
        return _strictness(exercise, reference, reference, wide=wide)[1]


@contextmanager
def _on_one_core() -> Iterator[int]:
    """Keep this thread on the core where it is; sessions that are opened there share it, and wait while this thread runs."""
    before = os.sched_getaffinity(0)
    core = ctypes.CDLL(None).sched_getcpu()
    os.sched_setaffinity(0, {core})
    try:
        yield core
    finally:
        os.sched_setaffinity(0, before)


@dataclass(frozen=True)
class _Sessions:
    """Three processes. What the reference is asked is what the candidate is asked, so their times mean the same."""

    desk: Session
    """Draws inputs."""
    reference: Session
    candidate: Session
    wide: bool
    """Whether inputs are widened."""
    tolerance: Tolerance
    needed_mb: int
    """What the reference took at most."""


def _picks(wanted: int, part: Effort, sessions: int) -> Iterator[Container[int]]:
    """Yield the turns of each session whose outputs are compared with the truth, drawn among all that are certain to be taken."""
    certain = part.warm + part.least
    drawn = secrets.SystemRandom().sample(range(sessions * certain), min(wanted, sessions * certain))
    for place in range(sessions):
        yield {turn - place * certain for turn in drawn if turn // certain == place}


def _by_turns(
    exercise: Exercise, sessions: _Sessions, effort: Effort, picks: Container[int], idle: list[float]
) -> list[tuple[float, float]] | Verdict:
    """Return the seconds of reference and candidate, or what is wrong with the candidate; `idle` gets those of calls without work."""
    spent = list[tuple[float, float]]()
    timed = exercise.backend.timed
    for turn in range(_rounds(exercise, effort)):
        if timed and turn == effort.warm and (settled := exercise.settle(sessions.candidate)).status != "ok":
            return _bad(_died(settled, "before it was timed", sessions.needed_mb), settled)
        seed = secrets.randbits(63)
        inputs = exercise.draw(seed, sessions.desk, wide=sessions.wide)
        order = (sessions.reference, sessions.candidate)[:: 1 if turn % 2 == 0 else -1]
        ends = {session: _worked(exercise, session, inputs, turn) for session in order}
        (want, right), (got, output) = ends[sessions.reference], ends[sessions.candidate]
        asked(want)
        call = f"in call {turn + 1}"
        if got.status != "ok":
            return _bad(_died(got, call, sessions.needed_mb), got)
        truth = exercise.truth(seed) if turn in picks else None
        wrong = _compare(output, right, truth, sessions.tolerance, slack=exercise.slack)
        if wrong is not None:
            return _bad(f"Wrong {call}: {wrong}. Each call has inputs of its own, and every output is checked.", got)
        if timed and turn >= effort.warm:
            spent.append((_seconds(want), _seconds(got)))
            idle.append(_idle(exercise, sessions.reference, inputs, turn))
            if len(spent) >= effort.least and 1000 * sum(map(sum, spent)) > effort.budget_ms:
                break
    return spent


def _rounds(exercise: Exercise, effort: Effort) -> int:
    """Return how many rounds one session has at most."""
    return effort.warm + (effort.most if exercise.backend.timed else effort.trials)


def _worked(exercise: Exercise, session: Session, inputs: Sequence[Any], turn: int) -> tuple[Outcome, Arrays | str]:
    """Call a session, and copy its outputs before another process has time to go on; in place of them, why there are none."""
    outcome = _called(exercise, session, inputs, turn)
    if outcome.status != "ok":
        return outcome, outcome.error
    try:
        return outcome, exercise.take(session, turn=turn)
    except Unreadable as err:
        return outcome, str(err)


def _compare(
    got: Arrays | str, right: Arrays | str, truth: Arrays | None, tolerance: Tolerance, *, slack: float
) -> str | None:
    if isinstance(right, str):
        raise NotMeasured(f"The reference's output cannot be read: {right}", retry=False)
    if isinstance(got, str):
        return got
    return differs(got, right, tolerance.times(slack)) if truth is None else differs(got, truth, tolerance)


def _probe(exercise: Exercise, desk: Session, reference: Session) -> bool:
    """Refuse a problem whose output a constant could stand for; tell whether its inputs can be widened."""
    outputs = list[Arrays]()
    for seed in (1, 2):
        asked(_called(exercise, reference, exercise.draw(seed, desk, wide=False), seed))
        outputs.append(exercise.take(reference, turn=seed))
    if differs(outputs[0], outputs[1], exercise.tolerance) is None:
        raise ConstantOutput
    if not all(map(is_finite, outputs)):
        return False
    widened = (_worked(exercise, reference, exercise.draw(seed, desk, wide=True), seed) for seed in (1, 2))
    return all(
        outcome.status == "ok" and not isinstance(output, str) and is_finite(output) for outcome, output in widened
    )


def _strictness(exercise: Exercise, desk: Session, reference: Session, *, wide: bool) -> tuple[Tolerance, bool]:
    """Return how far outputs may lie from the right ones, and whether half precision misses that."""
    if not exercise.tolerance.by_scale:
        return exercise.tolerance, True
    tries = []
    for seed in (1, 2):
        inputs = exercise.draw(seed, desk, wide=wide)
        ends = [_worked(exercise, reference, values, seed) for values in (inputs, halved(inputs), jolted(inputs))]
        exercise.halve(reference, half=True)
        ends.append(_worked(exercise, reference, inputs, seed))
        exercise.halve(reference, half=False)
        outputs = [output for _, output in ends if not isinstance(output, str)]
        if len(outputs) < len(ends):
            return exercise.tolerance, False
        right, of_halves, of_jolted, of_weights = outputs
        tries.append(Tried(right, of_halves if any(map(is_single, inputs)) else None, of_jolted, of_weights))
    return made_strict(exercise.tolerance, tries)


def _called(exercise: Exercise, session: Session, inputs: Sequence[Any], turn: int) -> Outcome:
    """Call a session on inputs that are written right before, so that caches hold as much of them for one as for the other."""
    if session.shared:  # a session that is over has no memory, and its call says how it ended
        exercise.give(session, inputs, turn=turn)
    return session.call()


def _idle(exercise: Exercise, reference: Session, inputs: Sequence[Any], turn: int) -> float:
    """Return the seconds of a call that takes over and hands over, and does no work between."""
    if reference.shared:
        reference.shared[IDLE] = 1
    outcome = _called(exercise, reference, inputs, turn)
    asked(outcome)
    reference.shared[IDLE] = 0
    return _seconds(outcome)


def timing_of(
    spent: Sequence[Sequence[tuple[float, float]]], idle: Sequence[float], *, least: float = LEAST_NOISE
) -> Timing:
    """Compare the seconds of reference and candidate by turns, in each session, told apart no better than by what calls without work take,
    nor by `least`, a share.

    Raises:
        NotMeasured: when the reference's work is not well above that, or the clock stands still while a call is made.
    """
    if min(seconds for turns in spent for turn in turns for seconds in turn) <= 0:
        raise NotMeasured("The clock of a process stands still on this machine while a call is made.", retry=False)
    taken = [[(round(1e9 * right), round(1e9 * mine)) for right, mine in turns] for turns in spent]
    reference, handing = median(right for turns in taken for right, _ in turns), 1e9 * median(idle)
    if reference < LEAST_MULTIPLE * handing:
        raise TooShort(
            f"The reference takes {reference / 1e3:.3g} µs a call, and one that does no work {handing / 1e3:.3g} µs: too little to "
            f"be timed here, where {LEAST_MULTIPLE} times that are needed.",
            retry=False,
        )
    if len(taken) > 1:
        return compare_afresh(taken, handing=handing, least=least)
    return compare(*zip(*taken[0], strict=True), handing=handing, least=least)


def _seconds(outcome: Outcome) -> float:
    if outcome.cpu_seconds is None:
        raise NotMeasured(
            "The processor time of a candidate cannot be told on this host, which holds it in namespaces: times need Landlock and seccomp.",
            retry=False,
        )
    return outcome.cpu_seconds


def _require_memory(needed_mb: int) -> None:
    """Refuse to begin what would leave the machine without memory.

    Raises:
        NotMeasured: where less is free than the reference took.
    """
    if (free := memory.machine_mb("MemAvailable")) < needed_mb:
        raise NotMeasured(
            f"The reference takes {needed_mb} MB of memory, and a candidate as much again: {free} MB are free on this machine."
        )


def _died(outcome: Outcome, when: str, needed_mb: int) -> str:
    words = {
        "timeout": f"It took too long {when}.",
        "killed": f"Its process ended {when}: {outcome.error}",
        "forbidden": f"It did what is not allowed {when}: {outcome.error}",
    }
    told = words.get(outcome.status, f"It failed {when}: {outcome.error}")
    if is_short(outcome):
        told = f"It needs more memory than a candidate may take {when}: the reference took {needed_mb} MB."
    return "\n".join(filter(None, [told, outcome.traceback]))


def _bad(text: str, outcome: Outcome) -> Verdict:
    compiled = outcome.status in {"ok", "timeout", "killed", "memory"}
    return bad(text, compiled=compiled, status="timeout" if outcome.status == "timeout" else "invalid")


def _good(exercise: Exercise, source: str, timing: Timing | None, calls: int) -> Verdict:
    hints = find_hints(source, exercise.backend.name)
    noted = "".join(f"\nHint: {hint}" for hint in hints)
    if timing is None:
        text = "Correct in all calls. No time is taken with this backend: what is right counts 1."
        metrics = {"compiled": 1.0, "correct": 1.0, "hints": float(len(hints))}
        return Verdict(True, True, text + noted, "ok", 1.0, metrics)  # noqa: FBT003
    text = sentence_of(timing, "Processor time", calls)
    metrics = metrics_of(timing) | {"hints": float(len(hints))}
    return Verdict(True, True, text + noted, "ok", timing.score, metrics)  # noqa: FBT003
