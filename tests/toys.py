"""Toys that tests alone use: one with two objectives, and one with a hill to leave."""

from __future__ import annotations

from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback, Objective, Parameter, Values
from tracebench_engine.api.kit.tasks import SimpleTask
from tracebench_testing.teacher import Lesson
from tracebench_testing.toys import Toy, steps_towards


def build_trade_off() -> Toy:
    """One number and two objectives that disagree about it, both to be minimised; anything from 0 to 1 is undominated."""

    def guide(_: Example, x: Any, _context: Context) -> Feedback:
        losses = {"left": x * x, "right": (x - 1) ** 2}
        return Feedback(score=-(losses["left"] + losses["right"]) / 2, text=f"at {x:g}", metrics=losses)

    task = SimpleTask(
        parameters=[Parameter(name="x", initial=4.0, kind="number", minimum=-100, maximum=100)],
        objective="Keep both losses low.",
        program=lambda values, _example, _context: float(values["x"]),  # type: ignore[arg-type]  # kind `number`
        guide=guide,
    )
    objectives = tuple(Objective(metric=m, direction="minimize") for m in ("left", "right"))
    return Toy("trade-off", task, steps_towards({"x": 0.5}), target=-0.26, objectives=objectives)


def build_hills() -> Toy:
    """A low hill at the start, a shallow valley, and a high hill: whoever only climbs never leaves."""
    heights = {0.0: 0.5, 1.0: 0.4, 2.0: 0.4, 3.0: 1.0}

    def move(values: Values, by: float) -> Values:
        x = float(values["x"])  # type: ignore[arg-type]  # kind `number`
        return values | {"x": min(3.0, max(0.0, x + by))}

    task = SimpleTask(
        parameters=[Parameter(name="x", initial=0.0, kind="number", minimum=0, maximum=3)],
        objective="Climb.",
        program=lambda values, _example, _context: values["x"],
        guide=lambda _example, x, _context: Feedback(score=heights[float(x)], text=""),
    )
    lesson = Lesson(improve=lambda values, _rng: move(values, 1.0), harm=lambda values, _rng: move(values, -1.0))
    return Toy("hills", task, lesson, target=1.0)
