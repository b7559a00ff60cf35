"""Judges a module on a device: the reference's process and the candidate's by turns, every output compared, time by the judge's marks.

The candidate's process is no sandbox's: a device's driver needs system calls that the sandbox refuses. It gets no secret, a folder of its
own, and memory in which nothing of others lies; what it says is believed nowhere. The judge's process and the reference's cannot be looked
into by processes of the same user, except by the superuser's.
"""

from __future__ import annotations

import ctypes
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from statistics import median

from tracebench_core.contracts import NotMeasured
from tracebench_kernelbench.cuda.device import Device
from tracebench_kernelbench.cuda.guests import Guest, Reply, open_guest
from tracebench_kernelbench.cuda.quiet import MOST_DRIFT, drift, is_busy
from tracebench_kernelbench.cuda.turns import Called, Inputs, Turns, trusted
from tracebench_kernelbench.judging import Verdict, bad, metrics_of, sentence_of
from tracebench_kernelbench.modules.comparing import (
    Arrays,
    Tolerance,
    Tried,
    differs,
    halved,
    is_finite,
    jolted,
    made_strict,
)
from tracebench_kernelbench.modules.hints import find_hints
from tracebench_kernelbench.modules.inputs import widened
from tracebench_kernelbench.modules.stepping import LEAST_MULTIPLE, ConstantOutput, TooShort
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.timing import Timing, compare

_OF_MODULES = Tolerance(1e-4, 1e-4, by_scale=True)
_PARTS, _INPUTS, _HEAP, _OUTPUTS = 16, 2, 3, 1
"""Of the device's free memory: to each guest's inputs and the judge's, to what each guest makes, and to the copy of outputs."""
_SLICE = 1 << 24
"""Numbers that are compared at a time: their distances are in double precision."""
_DUMPABLE = (3, 4)
"""PR_GET_DUMPABLE, PR_SET_DUMPABLE."""


@dataclass(frozen=True)
class Bench:
    """Where kernels are judged: how the device is opened, and the program of a guest, whose last argument is its socket."""

    open: Callable[[], Device]
    program: Sequence[str]
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Assignment:
    """A problem of KernelBench for a device: its code, what a candidate is written with, and the seed of weights, which no source knows."""

    code: str
    backend: str
    tolerance: Tolerance = _OF_MODULES
    seed: int = field(default_factory=lambda: secrets.randbits(31), repr=False)


def judge_on_device(assignment: Assignment, source: str, bench: Bench, effort: Effort) -> Verdict:
    """Judge a source.

    Raises:
        NotMeasured: when the reference fails or is too quick to be timed, its output does not depend on its inputs, the device is not
            quiet or fails, or its clock drifts.
    """
    with ExitStack() as kept, _closed_to_others():
        device = bench.open()
        kept.callback(device.close)
        part = device.free_bytes() // _PARTS // 4096 * 4096
        turns = Turns(device, _INPUTS * part, _OUTPUTS * part)
        reference = _opened(kept, device, bench, part)
        weights = {"code": assignment.code, "seed": assignment.seed}
        trusted(reference.ask("load", effort.compile_seconds, source="", name="Model", **weights))
        judge = _Judge(assignment, turns, reference, effort)
        judge.prepare()
        candidate = _opened(kept, device, bench, part)
        reply = candidate.ask("load", effort.compile_seconds, source=source, name="ModelNew", **weights)
        if reply.status != "ok":
            return _failed(reply, "while it was loaded", compiled=reply.status != "error")
        return judge.compare(candidate, source)


def _opened(kept: ExitStack, device: Device, bench: Bench, part: int) -> Guest:
    size = (_INPUTS + _HEAP) * part
    guest = open_guest(device, bench.program, size=size, inputs=_INPUTS * part, environ=bench.environ)
    kept.callback(guest.close)
    return guest


@dataclass
class _Judge:
    assignment: Assignment
    turns: Turns
    reference: Guest
    effort: Effort
    wide: bool = False
    tolerance: Tolerance = _OF_MODULES

    def prepare(self) -> None:
        """Look at the problem by its reference: does it measure something, how far may outputs lie off, what does handing over take."""
        plain = [self._right(self._inputs(seed, wide=False)) for seed in (1, 2)]
        if differs(plain[0], plain[1], self.assignment.tolerance) is None:
            raise ConstantOutput
        widely = [self._called(self._inputs(seed, wide=True)) for seed in (1, 2)] if all(map(is_finite, plain)) else []
        self.wide = bool(widely) and all(called.reply.status == "ok" and is_finite(called.outputs) for called in widely)
        self.tolerance, _ = made_strict(self.assignment.tolerance, list(self._tries()))
        self.turns.look(self.reference, self._inputs(1, wide=self.wide))

    def compare(self, candidate: Guest, source: str) -> Verdict:
        """Call both by turns; return what they say."""
        spent = list[tuple[float, float]]()
        gauges: tuple[list[float], list[float]] = ([], [])
        for turn in range(self.effort.warm + self.effort.most):
            inputs = self._inputs(secrets.randbits(62), wide=self.wide, turn=turn)
            ends = self._by_turns(candidate, inputs, turn, gauges)
            trusted(ends[0].reply)
            call = f"in call {turn + 1}"
            if ends[1].reply.status != "ok":
                return _failed(ends[1].reply, call)
            if (wrong := _differs(ends[1].outputs, ends[0].outputs, self.tolerance)) is not None:
                return bad(f"Wrong {call}: {wrong}. Each call has inputs of its own, and every output is checked.")
            if turn >= self.effort.warm:
                spent.append((ends[0].seconds, ends[1].seconds))
                if len(spent) >= self.effort.least and 1000 * sum(map(sum, spent)) > self.effort.budget_ms:
                    break
        if any(is_busy(of_one, self.turns.quiet) for of_one in gauges):
            return bad(
                "Work of it goes on on the device while it is not called: before its calls, or after it claims to be done."
            )
        return self._timed(spent, drift(*gauges), source)

    def _by_turns(
        self, candidate: Guest, inputs: Inputs, turn: int, gauges: tuple[list[float], list[float]]
    ) -> tuple[Called, Called]:
        """Return how the reference's call and the candidate's ended; each is first in every second turn."""
        limit = (
            self.effort.compile_seconds if turn == 0 else self.effort.call_seconds
        )  # the first compiles what is compiled at work
        ends = dict[int, Called]()
        for place in (0, 1) if turn % 2 == 0 else (1, 0):
            ends[place] = self.turns.call((self.reference, candidate)[place], inputs, limit, gauges[place])
        return ends[0], ends[1]

    def _timed(self, spent: Sequence[tuple[float, float]], drifted: float, source: str) -> Verdict:
        if drifted > MOST_DRIFT:
            raise NotMeasured(
                f"The device's clock differs by {100 * drifted:.0f} % between the reference's calls and the candidate's.",
                suspect=True,
            )
        reference, candidate = ([round(1e9 * turn[place]) for turn in spent] for place in (0, 1))
        spread = 1e9 * self.turns.handing.spread
        if median(reference) < LEAST_MULTIPLE * spread:
            raise TooShort(
                f"The reference takes {median(reference) / 1e3:.3g} µs a call, and handing over differs by {spread / 1e3:.3g} µs: too "
                f"little to be timed here, where {LEAST_MULTIPLE} times that are needed.",
                retry=False,
            )
        timing = compare(reference, candidate, handing=spread)
        return self._good(replace(timing, noise=timing.noise + drifted), drifted, len(spent), source)

    def _good(self, timing: Timing, drifted: float, calls: int, source: str) -> Verdict:
        hints = find_hints(source, self.assignment.backend)
        text = sentence_of(timing, "Device time", calls)
        clock = self.turns.device.clock_hz()
        metrics = metrics_of(timing) | {"hints": float(len(hints)), "clock_drift": drifted}
        metrics |= {} if clock is None else {"clock_mhz": clock / 1e6}
        return Verdict(True, True, text + "".join(f"\nHint: {hint}" for hint in hints), "ok", timing.score, metrics)  # noqa: FBT003

    def _inputs(self, seed: int, *, wide: bool, turn: int = 0) -> Inputs:
        drawn = self.turns.draw(self.reference, seed)
        return self.turns.put([widened(value) for value in drawn] if wide else drawn, turn=turn)

    def _tries(self) -> Iterator[Tried]:
        for seed in (1, 2):
            inputs = self._inputs(seed, wide=self.wide)
            others = (inputs.values, halved(inputs.values), jolted(inputs.values))
            outputs = [self._right(self.turns.put(values, turn=0)) for values in others]
            trusted(self.reference.ask("halve", self.effort.compile_seconds, half=True))
            outputs.append(self._right(self.turns.put(inputs.values, turn=0)))
            trusted(self.reference.ask("halve", self.effort.compile_seconds, half=False))
            yield Tried(*outputs)

    def _right(self, inputs: Inputs) -> Arrays:
        called = self._called(inputs)
        trusted(called.reply)
        return called.outputs

    def _called(self, inputs: Inputs) -> Called:
        return self.turns.call(self.reference, inputs, self.effort.compile_seconds, [])


def _differs(got: Arrays, want: Arrays, tolerance: Tolerance) -> str | None:
    """Return what `differs` says, of so many numbers at a time: how large numbers are like is told of each such part."""
    if [(one.shape, one.dtype) for one in got] != [(other.shape, other.dtype) for other in want]:
        return differs(got, want, tolerance)
    for one, other in zip(got, want, strict=True):
        if one.size <= _SLICE:
            wrong = differs([one], [other], tolerance)
        else:
            flat, right = one.reshape(-1), other.reshape(-1)
            parts = (slice(at, at + _SLICE) for at in range(0, one.size, _SLICE))
            wrong = next(filter(None, (differs([flat[part]], [right[part]], tolerance) for part in parts)), None)
        if wrong is not None:
            return wrong
    return None


def _failed(reply: Reply, when: str, *, compiled: bool = True) -> Verdict:
    words = {"timeout": f"It took too long {when}.", "died": f"Its process ended {when}."}
    text = "\n".join(filter(None, [words.get(reply.status, f"It failed {when}."), reply.words]))
    return bad(text, compiled=compiled, status="timeout" if reply.status == "timeout" else "invalid")


@contextmanager
def _closed_to_others() -> Iterator[None]:
    """Let no process of the same user look into this one: neither debug it nor read its memory."""
    control = ctypes.CDLL(None, use_errno=True).prctl
    before = control(_DUMPABLE[0], 0, 0, 0, 0)
    control(_DUMPABLE[1], 0, 0, 0, 0)
    try:
        yield
    finally:
        control(_DUMPABLE[1], before, 0, 0, 0)
