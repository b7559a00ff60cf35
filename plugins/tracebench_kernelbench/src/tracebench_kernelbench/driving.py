"""Runs the driver in the sandbox and reads what it says: one line per fact."""

from __future__ import annotations

import base64
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracebench_core.contracts import NotMeasured, Sandbox
from tracebench_core.specs import Limits
from tracebench_kernelbench.building import build_driver, build_reference
from tracebench_kernelbench.options import Effort
from tracebench_kernelbench.problem import Problem

_SCRIPT = (
    "for f in driver candidate reference; do base64 -d $f.b64 > $f; done; chmod u+x driver; "
    'exec ./driver ./candidate ./reference "$@"'
)
_SLACK = 2.0
"""How much farther than the truth a candidate may lie from the reference, which has errors of its own."""
_SECONDS = 40.0
_END_MS = 10_000
"""Processor time after which the driver begins no further pair: a slow kernel needs none to be told."""
PAIRS = 9
"""Pairs of processes, as `driver.c` says. What a pair's pages are worth by where they lie is no work of a kernel; the median of what
they say lies in the range of nine in 255 of 256 evaluations."""
MEMORY_MB = 2048


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run ended early: `kind` is the driver's word for it."""

    kind: str
    round: int
    details: tuple[float, ...] = ()


@dataclass(slots=True)
class Record:
    """What the driver saw. Times are in nanoseconds."""

    seeds: Sequence[int]
    failure: Failure | None = None
    spent: list[list[tuple[int, int]]] = field(default_factory=list)
    """For each pair of processes: the processor time of the reference's calls and of the candidate's, by turns."""
    wall: list[tuple[int, int]] = field(default_factory=list)
    outputs: dict[int, NDArray[Any]] = field(default_factory=dict)
    copy: float = 0.0
    """The time that it takes to move as many bytes as the kernel must."""
    rate: float = 0.0
    """Floating-point operations per nanosecond that one core does at most."""


def drive(sandbox: Sandbox, problem: Problem, library: str, effort: Effort) -> Record:
    """Call a candidate's library and the reference's by turns on inputs that nobody has seen before.

    Raises:
        NotMeasured: when the driver or the reference fails, which is not the candidate's doing.
    """
    least, most = shared_out(effort)
    seeds = [secrets.randbits(64) for _ in range(PAIRS * (effort.warm + most))]
    picks = _picked(effort, most)
    nonce = secrets.token_hex(16)
    head = (
        f"{nonce} {effort.warm} {least} {most} {effort.budget_ms // PAIRS} {_END_MS} {int(effort.call_seconds * 1000)} "
        f"{_SLACK * problem.rtol!r} {_SLACK * problem.atol!r} {len(picks)}"
    )
    outcome = sandbox.command(
        ["sh", "-c", _SCRIPT, "drive", *(array.order for array in problem.arrays)],
        files={
            "driver.b64": build_driver(sandbox),
            "reference.b64": build_reference(sandbox, problem.source, problem.signature),
            "candidate.b64": library,
        },
        stdin=" ".join([head, *map(str, picks), *map(str, seeds)]),
        limits=Limits(
            seconds=_SECONDS + 2 * (effort.warm + 3) * effort.call_seconds,
            patience=1,  # a kernel may use every core
            memory_mb=MEMORY_MB,
            output_bytes=64 << 20,
            file_mb=64,
        ),
    )
    text = (outcome.value or {}).get("stdout", "")
    lines = text.splitlines()
    if outcome.status != "ok" or len(lines) < 2 or lines[0] != nonce or lines[-1] != "end":  # noqa: PLR2004
        code = (outcome.value or {}).get("returncode")
        raise NotMeasured(f"The driver did not finish: {outcome.error or f'exit code {code}'}.", suspect=True)
    return _read(lines[1:-1], seeds, problem)


def shared_out(effort: Effort) -> tuple[int, int]:
    """Return how many timed rounds a pair of processes makes at least and at most: even, as each comes first in half of them."""
    least, most = (2 * -(-rounds // (2 * PAIRS)) for rounds in (effort.least, effort.most))
    return least, most


def _picked(effort: Effort, most: int) -> list[int]:
    """Return the rounds whose outputs are compared with the truth: one of the first pair, which a slow kernel reaches, and others."""
    chance, rounds = secrets.SystemRandom(), effort.warm + 2
    anywhere = [pair * (effort.warm + most) + turn for pair in range(PAIRS) for turn in range(rounds)]
    first = chance.randrange(rounds)
    return sorted([first, *chance.sample([*filter(first.__ne__, anywhere)], min(effort.trials, rounds) - 1)])


def _read(lines: Sequence[str], seeds: Sequence[int], problem: Problem) -> Record:
    record = Record(seeds)
    dtype = np.float32 if problem.output.kind == "f" else np.int32
    for line in lines:
        word, *rest = line.split()
        if word == "pair":
            pair, reference, candidate, one, other = map(int, rest)
            record.spent.extend([] for _ in range(pair + 1 - len(record.spent)))
            record.spent[pair].append((reference, candidate))
            record.wall.append((one, other))
        elif word == "out":
            record.outputs[int(rest[0])] = np.frombuffer(base64.b64decode(rest[1]), dtype=dtype)
        elif word == "roof":
            record.copy, record.rate = float(rest[0]), float(rest[1])
        elif word == "fail":
            who, kind, turn, *details = rest
            if who == "reference":
                raise NotMeasured(f"The reference failed ({' '.join(rest[1:])}).")
            record.failure = Failure(kind, int(turn), tuple(map(float, details)))
    return record
