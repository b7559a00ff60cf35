"""Numbers that should reach a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback, Parameter, Values
from tracebench_engine.builtin.tasks.simple import SimpleTask

TARGET = 3.0


class NumericOptions(BaseModel):
    """What `numeric_param` can be varied in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    target: float = TARGET
    initial: float = 0.0
    noise: float = Field(default=0.0, ge=0)
    """Standard deviation of the noise added to every score."""


def build_one(*, target: float = TARGET, initial: float = 0.0, noise: float = 0.0) -> SimpleTask:
    """One number; score = -|x - target|, plus noise when asked for."""

    def program(values: Values, _: Example, context: Context) -> tuple[float, float]:
        import random  # noqa: PLC0415 - only the noisy variant draws

        drawn = random.Random(context.seed).gauss(0.0, noise) if noise else 0.0  # noqa: S311 - reproducible, not secret
        return float(values["x"]), drawn  # type: ignore[arg-type]  # kind `number`

    def guide(_: Example, output: Any, _context: Context) -> Feedback:
        x, drawn = output
        return _feedback(x, target=target, what="x", noise=drawn)

    return SimpleTask(
        parameters=[
            Parameter(
                name="x",
                initial=initial,
                kind="number",
                description="A number in [-100, 100].",
                minimum=-100,
                maximum=100,
            )
        ],
        objective="Find the number `x` that scores highest. The score is minus the distance to a hidden target.",
        program=program,
        guide=guide,
    )


def build_two() -> SimpleTask:
    """Two numbers, 1 and 1 at first, that should add up to 3."""

    def program(values: Values, _: Example, __: Context) -> float:
        return float(values["a"]) + float(values["b"])  # type: ignore[arg-type]  # kind `number`

    def guide(_: Example, output: Any, _context: Context) -> Feedback:
        return _feedback(float(output), target=TARGET, what="a + b", noise=0.0)

    return SimpleTask(
        parameters=[
            Parameter(name=name, initial=1.0, kind="number", description="A summand.", minimum=-100, maximum=100)
            for name in "ab"
        ],
        objective="Choose `a` and `b` so that their sum scores highest. The score is minus the distance of the sum to a hidden target.",
        program=program,
        guide=guide,
    )


def _feedback(value: float, *, target: float, what: str, noise: float) -> Feedback:
    distance = abs(value - target)
    verdict = "exactly right" if distance == 0 else "too low" if value < target else "too high"
    text = f"{what} = {value:g} is {verdict}."
    return Feedback(score=noise - distance, text=text, metrics={"distance": distance})


def answers_of_one(options: Mapping[str, Any]) -> list[Values]:
    """Return numbers that halve the distance again and again, and the target."""
    asked = NumericOptions(**options)
    return [{"x": asked.initial + part * (asked.target - asked.initial)} for part in (0.5, 0.75, 1.0)]


def answers_of_two(_options: Mapping[str, Any]) -> list[Values]:
    """Return pairs that come nearer to the wanted sum."""
    return [{"a": 1.0, "b": b} for b in (1.5, 1.75, TARGET - 1.0)]
