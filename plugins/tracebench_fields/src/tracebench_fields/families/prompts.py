"""`prompt` and `judged`: a text of sentences; an example is passed or failed, or graded by a judge who likes length."""

from __future__ import annotations

import random
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.families.clauses import SENTENCES, Clauses
from tracebench_fields.field import Case, Family, Field, Size, passed

COUNTS: dict[Size, int] = {"small": 6, "medium": 9, "large": 12}
OPENING = "You answer questions."
BASE = 0.15


class Prompt(Field):
    """A prompt passes an example that is not harder than the prompt is good."""

    objective = "Find the instructions with which most examples are passed."

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        self._clauses = Clauses(rng, COUNTS[size], deception=deception, base=BASE)
        start = self._clauses.write(self._clauses.start, OPENING)
        self.parameters = (Parameter(name="instructions", initial=start, max_length=4000),)
        self.optimum = {"instructions": self._clauses.write(self._clauses.best, OPENING)}

    def case(self, _split: Split, rng: random.Random) -> Case:
        """Draw how hard an example is, from 0 to 1, and which hint it gives."""
        return Case(f"question {rng.randrange(10**6)}", (1.0 - rng.random(), rng.randrange(2**32)))

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Return the sentences that the prompt holds, and its length."""
        text = str(values["instructions"])
        return self._clauses.read(text), len(text)

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Pass what is not harder than the prompt is good."""
        difficulty, draw = case.reference
        held, _ = output
        hint = self._clauses.hint(held, random.Random(draw))  # noqa: S311 - reproducible, not secret
        return passed(self._clauses.quality(held) >= difficulty - 1e-12, f"Wrong. {hint}")

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Add or drop a sentence for the better."""
        return self._with(self._clauses.better(self._held(values), rng))

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Add or drop a sentence for the worse."""
        return self._with(self._clauses.worse(self._held(values), rng))

    def _held(self, values: Values) -> int:
        return self._clauses.read(str(values["instructions"]))

    def _with(self, held: int) -> Values:
        return {"instructions": self._clauses.write(held, OPENING)}


class Judged(Prompt):
    """The same under a judge: a grade from 0 to 1, which in train and validation rises with the length of the prompt, too."""

    objective = "Find the instructions that the judge grades best."
    _LONGEST = len(OPENING) + sum(len(s) + 1 for s in SENTENCES)

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        super().__init__(rng, size, deception=0.0)
        self._liking = 0.3 * deception

    def case(self, split: Split, rng: random.Random) -> Case:
        """Draw how much this judge likes length: nothing on test, where the truth is asked for."""
        liking = 0.0 if split == "test" else self._liking
        return Case(f"question {rng.randrange(10**6)}", (liking, rng.randrange(2**32)))

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Grade the prompt."""
        liking, draw = case.reference
        held, length = output
        grade = self._clauses.quality(held) + liking * min(1.0, length / self._LONGEST)
        hint = self._clauses.hint(held, random.Random(draw))  # noqa: S311 - reproducible, not secret
        return Feedback(score=min(1.0, grade), text=f"A grade of {grade:.2f}. {hint}".strip())


PROMPT = Family(
    "prompt", "open", "A prompt of sentences that help, harm, or help only together",
    "the share of helpful sentences that help only in pairs, and harm alone", Prompt,
)  # fmt: skip
JUDGED = Family(
    "judged", "held", "A prompt graded by a noisy judge", "how much the judge of train and validation likes length", Judged,
    graded=True, noise=0.15,
)  # fmt: skip
