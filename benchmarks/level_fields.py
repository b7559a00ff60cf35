"""Two harder tasks of the level field: an exam whose marks are 0 or 1, and a valley between two hills."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

from tracebench_core.builtin.tasks.simple import SimpleTask
from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback, Parameter, Split, Values
from tracebench_core.testing.teacher import Lesson
from tracebench_core.testing.toys import Toy, steps_towards

PEAKS = ((2.0, 0.6), (8.0, 1.0))
"""Positions and heights of the two hills of the deceptive field."""


def build_exam(*, parameters: int = 5, train: int = 20, validation: int = 50) -> Toy:
    """Dials that each pass or fail the examples that ask for them: scores are 0 or 1, and few examples tell little."""
    ideals = {f"dial_{k}": float(k + 1) for k in range(parameters)}

    def guide(example: Example, value: Any, _context: Context) -> Feedback:
        off = float(value) - example.reference
        passed = abs(off) < 1.0
        return Feedback(score=float(passed), text="passed" if passed else f"{example.input} is off by {off:.3g}.")

    def examples(split: Split, size: int) -> Sequence[Example]:
        rng = random.Random(f"exam-{split}-{size}")
        names = list(ideals)
        asked = [names[i % parameters] for i in range(size)]
        return tuple(
            Example(id=f"{split}-{i}", input=name, reference=ideals[name] + rng.gauss(0.0, 0.7))
            for i, name in enumerate(asked)
        )

    sizes: dict[Split, int] = {"train": train, "validation": validation, "test": 1000}
    task = SimpleTask(
        parameters=[Parameter(name=n, initial=0.0, kind="number", minimum=-100, maximum=100) for n in ideals],
        objective="Turn each dial so that it passes most of the examples which ask for it.",
        program=lambda values, example, _context: float(values[example.input]),  # type: ignore[arg-type]
        guide=guide,
        splits={split: examples(split, size) for split, size in sizes.items()},
    )
    return Toy("exam", task, steps_towards(ideals), target=0.8)


def build_valley() -> Toy:
    """Two hills with a valley between them, the lower one near the start: who only ever climbs stays on it."""

    def height(x: float) -> float:
        return max(tall * math.exp(-((x - at) ** 2) / 2.0) for at, tall in PEAKS)

    def guide(_example: Example, value: Any, _context: Context) -> Feedback:
        x = float(value)
        return Feedback(score=height(x), text=f"The ground lies at {height(x):.3g}.")

    def walk(values: Values, rng: random.Random) -> Values:
        return values | {"x": round(float(values["x"]) + rng.choice((-1, 1)) * rng.uniform(0.3, 1.5), 4)}  # type: ignore[arg-type]

    ideal = steps_towards({"x": PEAKS[1][0]}, stride=0.8)
    task = SimpleTask(
        parameters=[Parameter(name="x", initial=0.0, kind="number", minimum=-20, maximum=20)],
        objective="Find the highest ground.",
        program=lambda values, _example, _context: float(values["x"]),  # type: ignore[arg-type]
        guide=guide,
    )
    return Toy("valley", task, Lesson(improve=ideal.improve, harm=walk), target=0.95)
