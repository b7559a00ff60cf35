"""Harder tasks of the level field: an exam whose marks are 0 or 1, a valley between two hills, examples that want
opposite things, and a real program with a script for its versions."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Sequence
from statistics import fmean
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Example, Feedback, Parameter, Split, Values
from tracebench_engine import api
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_testing.teacher import Lesson
from tracebench_testing.toys import Toy, steps_towards

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


def build_conflict(*, parameters: int = 3, train: int = 24, validation: int = 24) -> Toy:
    """Dials of which each example wants its own position: what helps one example hurts others, and the middle serves all best."""
    middles = {f"dial_{k}": float(k + 1) for k in range(parameters)}

    def guide(example: Example, value: Any, _context: Context) -> Feedback:
        off = float(value) - example.reference
        return Feedback(
            score=-(off**2) / 4, text=f"{example.input} is {'high' if off > 0 else 'low'} by {abs(off):.3g}."
        )

    def examples(split: Split, size: int) -> Sequence[Example]:
        names = list(middles)
        wanted = [(names[i % parameters], (-2.0, 2.0)[i // parameters % 2]) for i in range(size)]
        return tuple(
            Example(id=f"{split}-{i}", input=name, reference=middles[name] + off)
            for i, (name, off) in enumerate(wanted)
        )

    def side(values: Values, rng: random.Random) -> Values:
        name = rng.choice(list(middles))
        return values | {name: middles[name] + rng.choice((-2.0, 2.0))}

    sizes: dict[Split, int] = {"train": train, "validation": validation, "test": 1002}
    task = SimpleTask(
        parameters=[Parameter(name=n, initial=-1.0, kind="number", minimum=-100, maximum=100) for n in middles],
        objective="Turn each dial to where it serves all examples best.",
        program=lambda values, example, _context: float(values[example.input]),  # type: ignore[arg-type]
        guide=guide,
        splits={split: examples(split, size) for split, size in sizes.items()},
    )
    return Toy("conflict", task, Lesson(improve=steps_towards(middles).improve, harm=side), target=-1.05)


PACKING = "llm4ad:optimization/online_bin_packing"
HEADER = "import numpy as np\n\n\ndef priority(item, bins):\n    room = bins - item\n    return "
VERSIONS = (
    "1.0 * room",
    "-1.0 * (room - 60) ** 2",
    "-1.0 * (room - 40) ** 2",
    "-1.0 * (room - 20) ** 2",
    "np.zeros(len(bins))",
    "np.where(room < 40, 1.0, 0.0)",
    "np.where(room < 20, 1.0, 0.0)",
    "np.where(room < 10, 1.0, 0.0)",
    "-1.0 * room",
    "np.where(room < 5, 100.0 - room, np.where(room > 25, 1.0, 0.0))",
    "np.where(room < 2, 100.0 - room, np.where(room > 20, -1.0 * room, -200.0))",
)
"""Expressions of the packing program's last line."""


PACKING_SIZES: dict[Split, int] = {"train": 3, "validation": 3, "test": 5}


@functools.cache
def measured_packing() -> dict[str, list[float]]:
    """Return the scores of every version on all instances, the worst version first: measured by the task itself, in the sandbox."""
    options = {"size": "small", "n_train": sum(PACKING_SIZES.values()), "n_validation": 0, "n_test": 0}
    scores = {
        (code := HEADER + line + "\n"): [
            f.score for f in api.evaluate_task(PACKING, {"program": code}, eval_kwargs=options)
        ]
        for line in VERSIONS
    }
    return {code: scores[code] for code in sorted(scores, key=lambda code: fmean(scores[code]))}


def packing_scale() -> float:
    """Return how much better the best version is than the worst, where training begins."""
    means = [fmean(scores) for scores in measured_packing().values()]
    return means[-1] - means[0]


@functools.cache
def build_packing() -> Toy:
    """LLM4AD's online bin packing, its programs from a script."""
    measured = measured_packing()
    ladder = [*measured]

    def move(values: Values, by: int) -> Values:
        place = ladder.index(str(values["program"])) + by
        return {"program": ladder[min(max(place, 0), len(ladder) - 1)]}

    instances = iter(range(sum(PACKING_SIZES.values())))
    task = SimpleTask(
        parameters=[Parameter(name="program", initial=ladder[0], kind="code")],
        objective="Pack items that come one at a time into few bins.",
        program=lambda values, example, _context: measured[str(values["program"])][example.input],
        guide=lambda _example, score, _context: Feedback(score=score, text=f"{-score:g} bins."),
        splits={
            split: tuple(Example(id=f"{split}-{i}", input=next(instances)) for i in range(size))
            for split, size in PACKING_SIZES.items()
        },
    )
    lesson = Lesson(
        improve=lambda values, _: move(values, 1), harm=lambda values, rng: move(values, -rng.choice((1, 2)))
    )
    return Toy("packing", task, lesson, target=fmean(measured[ladder[-1]]))
