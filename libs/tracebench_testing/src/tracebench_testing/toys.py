"""Tasks with known solutions, each with the lesson that its teacher gives."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.ids import canonical_json, derive_seed
from tracebench_core.specs import Example, Feedback, Objective, Parameter, Split, Values
from tracebench_engine.api.kit.tasks import SimpleTask, code_param, numeric
from tracebench_testing.teacher import Lesson

CODE_STAGES = ("return x + 1", "return 2 * x", "return 2 * x + 1")


@dataclass(frozen=True, slots=True)
class Toy:
    """A task, what its teacher knows, and from which score it counts as solved."""

    name: str
    task: SimpleTask
    lesson: Lesson
    target: float
    objectives: tuple[Objective, ...] = ()
    worst_score: float | None = None


def build_number(*, noise: float = 0.0) -> Toy:
    """The task `internal:numeric_param`: one number, at 0 first and best at 3."""
    return Toy("number", numeric.build_one(noise=noise), steps_towards({"x": numeric.TARGET}), target=-0.05)


def build_code() -> Toy:
    """The task `internal:code_param`: a function in three versions, the last one right."""

    def move(values: Values, by: int) -> Values:
        stage = next((i for i, line in enumerate(CODE_STAGES) if f"    {line}\n" == _body(values)), 0)
        line = CODE_STAGES[min(max(stage + by, 0), len(CODE_STAGES) - 1)]
        return {"code": f"def transform(x):\n    {line}\n"}

    lesson = Lesson(improve=lambda values, _: move(values, 1), harm=lambda values, _: move(values, -1))
    return Toy("code", code_param.build(), lesson, target=1.0, worst_score=0.0)


def build_dials(
    *,
    parameters: int = 4,
    train: int = 8,
    validation: int = 8,
    test: int = 8,
    noise: float = 0.0,
    spread: float = 0.0,
    stride: float | None = None,
) -> Toy:
    """Several numbers, one of which matters on each example: different candidates are best on different examples.

    Args:
        parameters: how many dials there are; dial k is best at k + 1.
        train: examples of train; each looks at one dial, in turn.
        validation: examples of validation.
        test: examples of test.
        noise: standard deviation of the noise on each score, independent for each candidate and repeat as with a sampling model.
        stride: of the teacher's moves; see `steps_towards`.
        spread: how far an example's ideal may lie from that of its dial, so that few examples tell little of the rest.
    """
    ideals = {f"dial_{k}": float(k + 1) for k in range(parameters)}

    def program(values: Values, example: Example, context: Context) -> tuple[float, float]:
        drawn = _draw(values, context).gauss(0.0, noise) if noise else 0.0
        return float(values[example.input]), drawn  # type: ignore[arg-type]  # kind `number`

    def guide(example: Example, output: Any, _context: Context) -> Feedback:
        value, drawn = output
        off = value - example.reference
        return Feedback(
            score=drawn - abs(off), text=f"{example.input} is {'high' if off > 0 else 'low'} by {abs(off):.3g}."
        )

    def examples(split: Split, size: int) -> Sequence[Example]:
        rng = random.Random(f"{split}-{size}")  # noqa: S311 - reproducible, not secret
        names = list(ideals)
        return tuple(
            Example(
                id=f"{split}-{i}",
                input=(name := names[i % parameters]),
                reference=ideals[name] + rng.gauss(0.0, spread),
            )
            for i in range(size)
        )

    task = SimpleTask(
        parameters=[Parameter(name=n, initial=0.0, kind="number", minimum=-100, maximum=100) for n in ideals],
        objective="Turn each dial to its best position. The score is minus the distance to it.",
        program=program,
        guide=guide,
        splits={
            "train": examples("train", train),
            "validation": examples("validation", validation),
            "test": examples("test", test),
        },
    )
    return Toy(f"dials-{parameters}-{train}", task, steps_towards(ideals, stride=stride), target=-0.1)


def steps_towards(ideals: dict[str, float], *, stride: float | None = None) -> Lesson:
    """Return a lesson that moves one number at a time: towards its ideal, or somewhere.

    An improvement goes 30 to 90 % of the way, and harm up to 1 in either direction. With a `stride` both go that far, harm away from
    the ideal, so that progress is slow and has to be told from noise.
    """

    def improve(values: Values, rng: random.Random) -> Values:
        shown = [n for n in ideals if n in values]
        name = rng.choice([n for n in shown if values[n] != ideals[n]] or shown)
        gap = ideals[name] - _number(values[name])
        move = gap * rng.uniform(0.3, 0.9) if stride is None else math.copysign(min(stride, abs(gap)), gap)
        return values | {name: round(_number(values[name]) + move, 4)}

    def harm(values: Values, rng: random.Random) -> Values:
        name = rng.choice([n for n in ideals if n in values])
        gap = ideals[name] - _number(values[name])
        move = rng.choice((-1, 1)) * rng.uniform(0.2, 1.0) if stride is None else -math.copysign(stride, gap)
        return values | {name: round(_number(values[name]) + move, 4)}

    return Lesson(improve, harm)


def _draw(values: Values, context: Context) -> random.Random:
    """Return a generator that depends on the candidate too: the context's seed alone gives all candidates the same luck."""
    return random.Random(derive_seed(context.seed, canonical_json(values).decode()))  # noqa: S311 - reproducible, not secret


def _number(value: Any) -> float:
    return float(value)


def _body(values: Values) -> str:
    return str(values["code"]).partition("\n")[2]
