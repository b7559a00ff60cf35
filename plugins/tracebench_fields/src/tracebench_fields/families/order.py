"""`order`: steps that must be put into one order; an example knows of two of them."""

from __future__ import annotations

import itertools
import random
from typing import Any

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.field import Case, Family, Field, Size, passed

COUNTS: dict[Size, int] = {"small": 5, "medium": 7, "large": 10}
STEPS = ("parse", "clean", "match", "merge", "rank", "score", "check", "store", "report", "notify")


class Order(Field):
    """One parameter, a JSON list of all steps."""

    objective = "Put the steps into the order in which they must be done; each is named once."

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        self._right = rng.sample(STEPS, COUNTS[size])
        self._wrong_share = 0.4 * deception
        self.parameters = (Parameter(name="steps", initial=list(reversed(self._right)), kind="json"),)
        self.optimum = {"steps": list(self._right)}

    def case(self, split: Split, rng: random.Random) -> Case:
        """Draw two steps and which comes first; a share of train's pairs is the wrong way round where the field deceives."""
        first, second = sorted(rng.sample(range(len(self._right)), 2))
        if split == "train" and rng.random() < self._wrong_share:
            first, second = second, first
        return Case("a pair of steps", (self._right[first], self._right[second]))

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Return the order.

        Raises:
            EvaluationFailed: it is no list of all steps.
        """
        steps = values["steps"]
        if not isinstance(steps, list) or sorted(map(str, steps)) != sorted(self._right):
            text = f"`steps` must name each of these once: {', '.join(sorted(self._right))}."
            raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=text))
        return steps

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Pass what has the pair in its order."""
        first, second = case.reference
        return passed(output.index(first) < output.index(second), f"{first} must come before {second}.")

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Swap two neighbours that stand the wrong way round."""
        return self._swapped(values, rng, wrong=True)

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Swap two neighbours that stand rightly."""
        return self._swapped(values, rng, wrong=False)

    def _swapped(self, values: Values, rng: random.Random, *, wrong: bool) -> Values:
        steps = [str(step) for step in values["steps"]] if isinstance(values["steps"], list) else []
        if sorted(steps) != sorted(self._right):
            steps = list(reversed(self._right))
        places = [self._right.index(step) for step in steps]
        found = [i for i, (a, b) in enumerate(itertools.pairwise(places)) if (a > b) == wrong]
        if found:
            i = rng.choice(found)
            steps[i], steps[i + 1] = steps[i + 1], steps[i]
        return {"steps": [*steps]}


ORDER = Family(
    "order", "held", "Steps to be put into one order", "a share (0.4 of it) of train's pairs that are the wrong way round", Order,
)  # fmt: skip
