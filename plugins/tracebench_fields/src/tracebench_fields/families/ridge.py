"""`ridge`: numbers and choices of a training run, good only along a narrow curve on which all numbers have to move together."""

from __future__ import annotations

import math
import random
from typing import Any, NamedTuple

from tracebench_core.contracts import Context
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.families.steps import better, worse
from tracebench_fields.field import Case, Family, Field, Size


class Scale(NamedTuple):
    """A number between two bounds, and its place between them, from 0 to 1."""

    low: float
    high: float
    is_log: bool
    is_whole: bool

    def place(self, value: float) -> float:
        """Return where a value lies; what is beyond a bound lies at it."""
        value = min(max(value, self.low), self.high)
        if self.is_log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def value(self, place: float) -> float | int:
        """Return the value at a place, to six digits or whole, within the bounds."""
        place = min(max(place, 0.0), 1.0)
        at = self.low * (self.high / self.low) ** place if self.is_log else self.low + (self.high - self.low) * place
        return round(at) if self.is_whole else float(f"{min(max(at, self.low), self.high):.6g}")


NUMBERS = {
    "rate": Scale(1e-5, 0.1, is_log=True, is_whole=False),
    "width": Scale(8, 512, is_log=True, is_whole=True),
    "dropout": Scale(0.0, 0.8, is_log=False, is_whole=False),
    "decay": Scale(1e-6, 0.1, is_log=True, is_whole=False),
    "epochs": Scale(1, 60, is_log=False, is_whole=True),
}
"""The first of them is where the field is along the ridge; the others must be where the ridge then is."""
CHOICES = {
    "schedule": ("constant", "linear", "cosine", "steps"),
    "optimiser": ("plain", "momentum", "adaptive"),
    "pooling": ("mean", "last", "attention"),
}
COUNTS: dict[Size, tuple[int, int]] = {"small": (2, 1), "medium": (3, 2), "large": (5, 3)}
"""How many numbers and choices."""
WIDTH = 0.12
"""How far beside the ridge the score is halved."""
FORGIVES = 2.0
"""Widths that each wrong choice adds to the ridge where the field deceives most."""
ALONG = 0.55
"""What the far end of the ridge loses of the score."""
START = (0.03, 0.3)
"""Between which the initial settings score."""
NOTICED = 0.02
"""How far a hint looks, and how near is near enough, in places."""


class Ridge(Field):
    """Numbers of different ranges, some by their logarithm, and choices: a wrong one lowers the score and widens the ridge."""

    objective = "Find the settings of the training run that reach the best score."

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        numbers, choices = COUNTS[size]
        self._scales = {name: NUMBERS[name] for name in [*NUMBERS][:numbers]}
        self._first, *self._others = self._scales
        best = {self._first: rng.choice((rng.uniform(0.1, 0.35), rng.uniform(0.65, 0.9)))}
        best |= {name: rng.uniform(0.25, 0.75) for name in self._others}
        picked = {name: rng.choice(CHOICES[name]) for name in [*CHOICES][:choices]}
        self._heights = {name: {c: rng.uniform(0.65, 0.85) for c in CHOICES[name]} for name in picked}
        for name, choice in picked.items():
            self._heights[name][choice] = 1.0
        self._bends = {n: (rng.choice((-1, 1)) * rng.uniform(0.4, 0.9), rng.uniform(-0.9, 0.9)) for n in self._others}
        self._forgives = FORGIVES * deception
        self.optimum = {**{n: scale.value(best[n]) for n, scale in self._scales.items()}, **picked}
        self._best = self._places(self.optimum)
        start = self._start(rng)
        self.parameters = (
            *(
                Parameter(name=n, initial=start[n], kind="number", minimum=scale.low, maximum=scale.high)
                for n, scale in self._scales.items()
            ),
            *(Parameter(name=n, initial=start[n], kind="choice", choices=CHOICES[n]) for n in picked),
        )

    def case(self, _split: Split, rng: random.Random) -> Case:
        """Draw a data set: how sensitive it is to what is not at its best, and what it tells of."""
        return Case(f"data set {rng.randrange(10**6)}", (rng.uniform(0.6, 1.6), rng.randrange(2**32)))

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Return the settings."""
        return {name: values[name] for name in self.optimum}

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Score the settings; 1 at the best for every data set. One other setting is compared."""
        sensitive, draw = case.reference
        rng = random.Random(draw)  # noqa: S311 - reproducible, not secret
        score = self._quality(output) ** sensitive
        name = rng.choice([*self.optimum])
        if name in self._scales:
            up = self._moved(output, name, self._places(output)[name] + NOTICED)
            word = "help" if self._quality(up) > self._quality(output) else "hurt"
            text = f"A little more {name} would {word}."
        else:
            other = rng.choice([c for c in CHOICES[name] if c != output[name]])
            text = f"With {name} {other} it would be {self._quality({**output, name: other}) ** sensitive:.3f}."
        return Feedback(score=score, text=f"It reached {score:.3f}. {text}")

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Mend one choice, move one number towards the ridge, or all of them along it."""
        return self._chosen(values, self._nearer(self._known(values), set(values), rng), rng, is_better=True)

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Move one number off, or mar one choice."""
        known = self._known(values)
        places = self._places(known)
        others = [
            self._moved(known, name, places[name] + side * rng.uniform(0.06, 0.25))
            for name in self._scales
            if name in values
            for side in (-1, 1)
        ]
        others += [{**known, n: c} for n in self._heights if n in values for c in CHOICES[n] if c != known[n]]
        return self._chosen(values, others, rng, is_better=False)

    def _chosen(self, values: Values, found: list[dict[str, Any]], rng: random.Random, *, is_better: bool) -> Values:
        chosen = (better if is_better else worse)(self._known(values), found, self._quality, rng)
        return {name: chosen[name] for name in self.optimum if name in values}

    def _nearer(self, known: dict[str, Any], given: set[str], rng: random.Random) -> list[dict[str, Any]]:
        places = self._places(known)
        found = [{**known, n: self.optimum[n]} for n in self._heights if n in given and known[n] != self.optimum[n]]
        others = [name for name in self._others if name in given]
        for name in others:
            on_it = self._curve(places[self._first])[name]
            by = (on_it - places[name]) * rng.uniform(0.5, 1.0)
            found += [self._moved(known, name, p) for p in (places[name] + by, on_it) if abs(by) > NOTICED / 4]
        gap = self._best[self._first] - places[self._first]
        if self._first in given and abs(gap) > NOTICED / 4:
            to = places[self._first] + gap * (rng.uniform(0.3, 0.8) if abs(gap) > NOTICED else 1.0)
            moved = self._moved(known, self._first, to)
            before, after = self._curve(places[self._first]), self._curve(to)
            for name in others:
                moved = self._moved(moved, name, places[name] + after[name] - before[name])
            found.append(moved)
        return [f for f in found if f != known]

    def _start(self, rng: random.Random) -> dict[str, Any]:
        """Draw settings that score low: towards the other end of the ridge, beside it, with every choice wrong."""
        low, high = START
        while True:
            far = rng.uniform(0.0, 0.25)
            first = far if self._best[self._first] > 0.5 else 1.0 - far  # noqa: PLR2004 - the middle
            places = {self._first: first} | {n: rng.uniform(0.05, 0.95) for n in self._others}
            start: dict[str, Any] = {n: self._scales[n].value(p) for n, p in places.items()}
            start |= {n: rng.choice([c for c in CHOICES[n] if c != self.optimum[n]]) for n in self._heights}
            if low <= self._quality(start) <= high:
                return start

    def _known(self, values: Values) -> dict[str, Any]:
        """Return all settings, those that are not given as they are at first."""
        return {p.name: p.initial for p in self.parameters} | {n: values[n] for n in self.optimum if n in values}

    def _places(self, settings: Values) -> dict[str, float]:
        return {name: scale.place(float(str(settings[name]))) for name, scale in self._scales.items()}

    def _moved(self, settings: dict[str, Any], name: str, place: float) -> dict[str, Any]:
        return {**settings, name: self._scales[name].value(place)}

    def _curve(self, first: float) -> dict[str, float]:
        """Return where the ridge is, for a place of the first number."""
        along = first - self._best[self._first]
        return {n: min(max(self._best[n] + a * along + b * along**2, 0.0), 1.0) for n, (a, b) in self._bends.items()}

    def _quality(self, settings: dict[str, Any]) -> float:
        """Return 1 for the best: what the choices leave, less along the ridge, and halved a width beside it."""
        places = self._places(settings)
        heights = [self._heights[name][settings[name]] for name in self._heights]
        width = WIDTH * (1.0 + self._forgives * sum(height < 1.0 for height in heights))
        curve = self._curve(places[self._first])
        beside = math.dist([places[n] for n in self._others], [curve[n] for n in self._others]) / width
        best = self._best[self._first]
        along = abs(places[self._first] - best) / max(best, 1.0 - best)
        return math.prod(heights) * (1.0 - ALONG * along) / (1.0 + beside**2)


RIDGE = Family(
    "ridge", "reserve", "Settings of a training run along a narrow curve",
    "how much more each wrong choice forgives numbers that are beside the ridge", Ridge, graded=True,
)  # fmt: skip
