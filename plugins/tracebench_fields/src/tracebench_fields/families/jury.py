"""`jury`: a prompt that says how much of this and that answers need, under judges of whom some are steady, some erratic, and some lie."""

from __future__ import annotations

import math
import random
import re
from functools import lru_cache
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.families.steps import better, worse
from tracebench_fields.field import Case, Family, Field, Size

ASPECTS = ("brief", "formal", "careful", "concrete", "friendly", "bold")
DEGREES = ("not at all", "a little", "fairly", "very", "extremely")
SILENT = 2
"""The degree of what a prompt does not speak of."""
COUNTS: dict[Size, int] = {"small": 3, "medium": 4, "large": 6}
OPENING = "You write answers to customers."
BASE = 0.12
"""Quality of the initial prompt."""
LIARS = 0.4
"""Share of the judges that lie where the field deceives most."""
TEMPERS = {0.3: 0.4, 1.0: 0.4, 2.5: 0.2}
"""How erratic judges are, in multiples of the noise, and how many of them."""
STEADY, EXTREME = 0.5, 1.5
"""How much the grades of a prompt without extremes vary, and how much those of one that is extreme in everything vary besides."""
DEMAND = re.compile(rf"\bbe\s+({'|'.join(DEGREES)})\s+({'|'.join(ASPECTS)})\b", re.IGNORECASE)

Degrees = tuple[int, ...]
"""For each aspect of the field, a place in DEGREES."""


class Jury(Field):
    """One text. Aspects lean on their neighbours: what is right for one depends on how far the next is off."""

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        self._aspects = rng.sample(ASPECTS, COUNTS[size])
        last = len(DEGREES) - 1
        self._ideal: Degrees = tuple(rng.randint(0, last) for _ in self._aspects)
        self._lean = [rng.choice((-1, 1)) * rng.uniform(0.3, 0.6) for _ in self._aspects[1:]]
        self._liars = LIARS * deception
        start = tuple(rng.choice([d for d in range(last + 1) if abs(d - ideal) > 1]) for ideal in self._ideal)
        self._unit = self._loss(start) / -math.log(BASE)
        self.objective = (
            "Find the prompt whose answers the judges grade best. It says of each of "
            f"{', '.join(sorted(self._aspects))} how much of it is wanted, as `Be very {min(self._aspects)}.`; "
            f"degrees: {', '.join(DEGREES)}."
        )
        self.parameters = (Parameter(name="prompt", initial=self._write(start), max_length=2000),)
        self.optimum = {"prompt": self._write(self._ideal)}

    def case(self, split: Split, rng: random.Random) -> Case:
        """Draw a judge: how erratic, whether one that lies, and which aspect it speaks of. Those of the test tell the truth."""
        temper = rng.choices([*TEMPERS], [*TEMPERS.values()])[0]
        lies = rng.random() < self._liars and split != "test"
        return Case(f"letter {rng.randrange(10**6)}", (temper, lies, rng.randrange(2**32)))

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Return the degrees that the prompt asks for."""
        return self._read(values)

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Grade the prompt; a judge that lies turns grade and advice round."""
        _, lies, draw = case.reference
        grade = self._quality(output)
        off = [i for i, (is_, ideal) in enumerate(zip(output, self._ideal, strict=True)) if is_ != ideal]
        text = "Nothing to add."
        if off:
            i = random.Random(draw).choice(off)  # noqa: S311 - reproducible, not secret
            more = (output[i] < self._ideal[i]) != lies
            text = f"It should be {'more' if more else 'less'} {self._aspects[i]}."
        return Feedback(score=1.0 - grade if lies else grade, text=text)

    def spread(self, case: Case, output: Any) -> float:
        """Say that erratic judges vary more, and all of them on prompts that go to extremes."""
        temper, _, _ = case.reference
        extremes = sum(degree in {0, len(DEGREES) - 1} for degree in output) / len(output)
        return float(temper * (STEADY + EXTREME * extremes))

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Move one aspect by one or two degrees towards what is best."""
        here = self._read(values)
        nearer = [
            (*here[:i], here[i] + math.copysign(1, gap) * by, *here[i + 1 :])
            for i, gap in enumerate(ideal - is_ for ideal, is_ in zip(self._ideal, here, strict=True))
            for by in (1, 2)
            if by <= abs(gap)
        ]
        return {"prompt": self._write(better(here, [tuple(map(int, n)) for n in nearer], self._quality, rng))}

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Move one aspect to a degree that makes it worse, by two degrees at the most."""
        here = self._read(values)
        others = [
            (*here[:i], degree, *here[i + 1 :])
            for i, is_ in enumerate(here)
            for degree in range(len(DEGREES))
            if 0 < abs(degree - is_) <= 2  # noqa: PLR2004 - as the docstring says
        ]
        return {"prompt": self._write(worse(here, others, self._quality, rng))}

    def _loss(self, degrees: Degrees) -> float:
        """Return the sum of squares of how far each aspect is off, with a part of how far the next one is: 0 at the best alone."""
        off = [is_ - ideal for is_, ideal in zip(degrees, self._ideal, strict=True)]
        pulls = [lean * after for lean, after in zip(self._lean, off[1:], strict=True)]
        return sum((own + pull) ** 2 for own, pull in zip(off, [*pulls, 0.0], strict=True))

    def _quality(self, degrees: Degrees) -> float:
        return math.exp(-self._loss(degrees) / self._unit)

    def _read(self, values: Values) -> Degrees:
        asked = demands(str(values["prompt"]))
        return tuple(asked.get(aspect, SILENT) for aspect in self._aspects)

    def _write(self, degrees: Degrees) -> str:
        asked = [f"Be {DEGREES[degree]} {aspect}." for degree, aspect in zip(degrees, self._aspects, strict=True)]
        return " ".join([OPENING, *asked])


@lru_cache(maxsize=1024)
def demands(text: str) -> dict[str, int]:
    """Return the degree that a text asks for, by aspect; what it says last holds."""
    text = " ".join(text.split())
    return {aspect.lower(): DEGREES.index(degree.lower()) for degree, aspect in DEMAND.findall(text)}


JURY = Family(
    "jury", "reserve", "A prompt under judges of whom some are erratic and some lie",
    "a share (0.4 of it) of the judges of train and validation who grade and advise the wrong way round", Jury,
    graded=True, noise=0.12,
)  # fmt: skip
