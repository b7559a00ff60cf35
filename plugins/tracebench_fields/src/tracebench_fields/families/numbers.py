"""`numbers`, `valley` and `conflict`: positions to be found on slopes, across a valley, and between examples that disagree."""

from __future__ import annotations

import math
import random
from statistics import median
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.field import Case, Family, Field, Size

NAMES = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta")
"""Without digits at their ends: frameworks put numbers behind names."""
REACH = 10.0
"""Positions lie between minus this and this."""
START = 0.0
SLOPES: dict[Size, int] = {"small": 2, "medium": 4, "large": 8}
VALLEYS: dict[Size, int] = {"small": 1, "medium": 2, "large": 3}
CROWDS: dict[Size, int] = {"small": 1, "medium": 3, "large": 6}
"""How many numbers a field has."""


class Positions(Field):
    """Numbers that a step moves towards or away from where they should be."""

    def __init__(self, ideal: dict[str, float]) -> None:
        self.optimum = dict(ideal)
        self.parameters = tuple(
            Parameter(name=n, initial=START, kind="number", minimum=-REACH, maximum=REACH) for n in ideal
        )

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Return the position."""
        return {name: float(values[name]) for name in self.optimum}  # type: ignore[arg-type]  # kind `number`

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Move one number 30 to 90 % of its way."""
        here = self._given(values)
        gaps = {n: float(str(self.optimum[n])) - x for n, x in here.items()}
        name = rng.choice([n for n, gap in gaps.items() if abs(gap) > 1e-3] or list(gaps))  # noqa: PLR2004 - printed places
        return {**values, name: round(here[name] + gaps[name] * rng.uniform(0.3, 0.9), 4)}

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Move one number away from where it should be."""
        here = self._given(values)
        name = rng.choice(list(here))
        away = math.copysign(rng.uniform(0.5, 2.0), here[name] - float(str(self.optimum[name])))
        return {**values, name: round(min(max(here[name] + away, -REACH), REACH), 4)}

    def _given(self, values: Values) -> dict[str, float]:
        return {n: float(values[n]) for n in self.optimum if n in values}  # type: ignore[arg-type]  # kind `number`


class Numbers(Positions):
    """A slope to one best position; each example looks at it from a side of its own."""

    objective = "Find the position that all examples like best."

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        names = NAMES[: SLOPES[size]]
        super().__init__({n: round(rng.choice((-1, 1)) * rng.uniform(2, 6), 4) for n in names})
        self._shift = {n: deception * rng.choice((-1.0, 1.0)) for n in names}

    def case(self, split: Split, rng: random.Random) -> Case:
        """Draw a direction from which to look; train looks for a place beside the best one where it deceives."""
        side = [rng.gauss(0.0, 1.0) for _ in self.optimum]
        length = math.hypot(*side)
        shift = self._shift if split == "train" else dict.fromkeys(self.optimum, 0.0)
        return Case("a view", ([s / length for s in side], shift))

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Score the distance along the direction: 1 at the best place, 0 five away."""
        side, shift = case.reference
        off = sum(s * (output[n] - float(str(self.optimum[n])) - shift[n]) for n, s in zip(output, side, strict=True))
        return Feedback(score=max(0.0, 1.0 - abs(off) / 5.0), text=f"Off by {off:+.3g} along {_rounded(side)}.")


class Valley(Positions):
    """A low hill near the start and a high one behind a valley: who only ever climbs stays on the low one."""

    objective = "Find the highest ground."

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        names = NAMES[: VALLEYS[size]]
        signs = {n: rng.choice((-1, 1)) for n in names}
        super().__init__({n: round(-sign * rng.uniform(5.0, 7.0), 4) for n, sign in signs.items()})
        self._near = {n: sign * rng.uniform(0.8, 1.6) for n, sign in signs.items()}
        self._low = 0.4 + 0.4 * deception

    def case(self, _split: Split, _rng: random.Random) -> Case:
        """Return the ground, which is the same for all."""
        return Case(None, None)

    def verdict(self, _case: Case, output: Any) -> Feedback:
        """Score the height."""
        near = math.dist(list(output.values()), list(self._near.values()))
        far = math.dist(list(output.values()), [float(str(v)) for v in self.optimum.values()])
        height = max(self._low * math.exp(-(near**2) / 2), math.exp(-(far**2) / 4))
        return Feedback(score=height, text=f"The ground lies at {height:.4g}.")


class Conflict(Positions):
    """Each example wants its own position: what helps one hurts another, and the middle of the larger crowd serves best."""

    objective = "Find the position that serves the examples best on the whole."
    _CROWD = 0.65

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        names = NAMES[: CROWDS[size]]
        self._apart = {n: (3.0 + 3.0 * deception) * rng.choice((-1, 1)) for n in names}
        centres = {n: rng.uniform(-3.0, 3.0) for n in names}
        self._centres = centres
        drawn = {n: [self._wish(n, random.Random(f"{rng.random()}-{i}")) for i in range(4001)] for n in names}  # noqa: S311
        super().__init__({n: round(median(wishes), 2) for n, wishes in drawn.items()})

    def case(self, _split: Split, rng: random.Random) -> Case:
        """Draw a parameter and the position that the example wants for it."""
        name = rng.choice(list(self.optimum))
        return Case(name, self._wish(name, rng))

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Score the distance to the wish: 1 there, 0 as far off as the range reaches."""
        off = output[case.input] - case.reference
        word = "high" if off > 0 else "low"
        return Feedback(score=max(0.0, 1.0 - abs(off) / REACH), text=f"{case.input} is {word} by {abs(off):.3g}.")

    def _wish(self, name: str, rng: random.Random) -> float:
        centre = self._centres[name] + (0.0 if rng.random() < self._CROWD else self._apart[name])
        return centre + rng.gauss(0.0, 0.5)


def _rounded(side: list[float]) -> str:
    return "(" + ", ".join(f"{s:.2f}" for s in side) + ")"


NUMBERS = Family(
    "numbers", "open", "A position on a slope", "how far from the best place that lies which train looks for", Numbers, graded=True,
)  # fmt: skip
VALLEY = Family(
    "valley", "held", "Two hills and a valley between them", "how high the low hill near the start is", Valley, graded=True,
)  # fmt: skip
CONFLICT = Family(
    "conflict", "held", "Examples that want opposite things", "how far the smaller crowd stands apart", Conflict, graded=True,
)  # fmt: skip
