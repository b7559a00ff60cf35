"""A function that should map its input to twice the input plus one, called in the sandbox."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Example, Feedback, FeedbackStatus, Limits, Parameter, Split, Values
from tracebench_engine.builtin.tasks.simple import SimpleTask

INITIAL = "def transform(x):\n    return x + 1\n"
INPUTS: dict[Split, tuple[int, ...]] = {"train": (0, 1, 2, 5), "validation": (3, 7), "test": (4, 10, -6)}


def build() -> SimpleTask:
    """Score = 1 / (1 + |output - (2x + 1)|): 1 for a right answer, less the farther off."""

    def program(values: Values, example: Example, context: Context) -> Any:
        limits = Limits(seconds=2.0, memory_mb=256)
        outcome = context.sandbox.call(str(values["code"]), "transform", example.input, limits=limits)
        if outcome.status != "ok":
            status: FeedbackStatus = "timeout" if outcome.status == "timeout" else "invalid"
            raise EvaluationFailed(
                Feedback(score=0.0, status=status, text=f"transform({example.input}): {outcome.error}")
            )
        return outcome.value

    def guide(example: Example, output: Any, _context: Context) -> Feedback:
        if isinstance(output, bool) or not isinstance(output, int | float) or output != output:  # noqa: PLR0124 - NaN
            return Feedback(
                score=0.0,
                status="invalid",
                text=f"transform({example.input}) must return a number, not {output!r:.80}.",
            )
        try:
            off = abs(float(output) - example.reference)
        except OverflowError:  # an integer of hundreds of digits
            off = math.inf
        if off == 0:
            return Feedback(
                score=1.0, text=f"transform({example.input}) = {output} is right.", metrics={"correct": 1.0}
            )
        text = f"transform({example.input}) returned {output!r:.80}, expected {example.reference}."
        return Feedback(score=1.0 / (1.0 + off), text=text, metrics={"correct": 0.0})

    return SimpleTask(
        parameters=[
            Parameter(
                name="code",
                initial=INITIAL,
                kind="code",
                signature="def transform(x):",
                description="Python source that defines `transform(x)`: an int in, a number out.",
                max_length=20_000,
            )
        ],
        objective="Write the function `transform(x)` so that it returns the expected number for every integer x.",
        program=program,
        guide=guide,
        splits={s: tuple(Example(id=f"{s}-{x}", input=x, reference=2 * x + 1) for x in xs) for s, xs in INPUTS.items()},
    )


def answers(_options: Mapping[str, Any]) -> list[Values]:
    """Return programs of known quality, the worst first."""
    return [{"code": f"def transform(x):\n    return {formula}\n"} for formula in ("2 * x - 1", "2 * x", "2 * x + 1")]
