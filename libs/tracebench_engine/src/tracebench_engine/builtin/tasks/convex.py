"""Two losses of one point: the six-hump camel function and the squared distance to the origin.

The camel function f(x, y) = (4 - 2.1 x^2 + x^4 / 3) x^2 + x y + (4 y^2 - 4) y^2 (Dixon and Szegö 1978) has its minimum
-1.0316 at (±0.0898, ∓0.7126), away from the origin, so the two losses disagree.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from tracebench_core.contracts import Context
from tracebench_core.ids import derive_seed
from tracebench_core.specs import Example, Feedback, Parameter, Values
from tracebench_engine.builtin.tasks.simple import SimpleTask

BOUND = 2.0


class ConvexOptions(BaseModel):
    """What `multiobjective_convex` can be varied in."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int | None = None
    """Draws the starting point; (1.5, 1.5) when None."""
    objective_mode: Literal["weighted", "pareto"] = "weighted"
    """What the description asks for; the score is the equally weighted sum in both."""


def build(*, seed: int | None = None, objective_mode: str = "weighted") -> SimpleTask:
    """Score = -(base_loss + reg_loss) / 2; both losses are in the metrics."""
    draw = random.Random(derive_seed(seed, "start")) if seed is not None else None  # noqa: S311 - reproducible, not secret
    start = [round(draw.uniform(-BOUND, BOUND), 3) if draw else 1.5 for _ in "xy"]
    aim = "the sum of both losses" if objective_mode == "weighted" else "both losses at once"

    def program(values: Values, _: Example, __: Context) -> tuple[float, float]:
        return float(values["x"]), float(values["y"])  # type: ignore[arg-type]  # kind `number`

    def guide(_: Example, output: Any, _context: Context) -> Feedback:
        x, y = output
        base = (4 - 2.1 * x**2 + x**4 / 3) * x**2 + x * y + (4 * y**2 - 4) * y**2
        reg = x**2 + y**2
        text = f"At ({x:g}, {y:g}) base_loss is {base:.4f} and reg_loss {reg:.4f}; lower is better for both."
        return Feedback(score=-(base + reg) / 2, text=text, metrics={"base_loss": base, "reg_loss": reg})

    return SimpleTask(
        parameters=[
            Parameter(
                name=n,
                initial=v,
                kind="number",
                description=f"Coordinate {n} in [-2, 2].",
                minimum=-BOUND,
                maximum=BOUND,
            )
            for n, v in zip("xy", start, strict=True)
        ],
        objective=f"Choose the point (x, y) that minimises {aim}: base_loss (a bumpy function) and reg_loss (x² + y²).",
        program=program,
        guide=guide,
    )


def answers(_options: Mapping[str, Any]) -> list[Values]:
    """Return points on the way to the least sum of both losses, which lies near (0.08, -0.61)."""
    return [{"x": 0.5, "y": -0.2}, {"x": 0.1, "y": -0.4}, {"x": 0.08, "y": -0.61}]
