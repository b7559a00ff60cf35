"""`code`: a function whose text breaks easily; each of its rules is right or wrong."""

from __future__ import annotations

import random
import re
from typing import Any

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Feedback, Limits, Parameter, Split, Values
from tracebench_fields.field import Case, Family, Field, Size, passed

COUNTS: dict[Size, int] = {"small": 4, "medium": 6, "large": 9}
RULE = re.compile(r"^\s*(\d+): (-?\d+) \* x \+ (-?\d+),?\s*$", re.MULTILINE)
LIMITS = Limits(seconds=2.0, memory_mb=256)
BREAKS = 0.3
"""Share of the harms that break the text."""

Rules = dict[int, tuple[int, int]]


class Code(Field):
    """`answer(x)` looks up a rule by the rest of x; examples name one number, or two that must both be right."""

    objective = "Write `answer(x)` so that it returns what the examples ask for."

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        self._count = COUNTS[size]
        self._rules: Rules = {r: (rng.randint(2, 9), rng.randint(1, 9)) for r in range(self._count)}
        self._pairs = deception
        start = _text(dict.fromkeys(range(self._count), (0, 0)) | {0: self._rules[0]})
        self.parameters = (
            Parameter(name="code", initial=start, kind="code", signature="def answer(x):", max_length=8000),
        )
        self.optimum = {"code": _text(self._rules)}

    def case(self, _split: Split, rng: random.Random) -> Case:
        """Draw the numbers of an example: two of them in the share of examples that deceive."""
        numbers = [rng.randrange(1000) for _ in range(1 + (rng.random() < self._pairs))]
        return Case(numbers, [self._right(x) for x in numbers])

    def output(self, values: Values, given: Any, context: Context) -> Any:
        """Call the candidate in the sandbox.

        Raises:
            EvaluationFailed: it does not run, or returns in no time.
        """
        answers = []
        for x in given:
            outcome = context.sandbox.call(str(values["code"]), "answer", x, limits=LIMITS)
            if outcome.status != "ok":
                raise EvaluationFailed(Feedback(score=0.0, status="invalid", text=outcome.error))
            answers.append(outcome.value)
        return answers

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Pass what is right in every number."""
        wrong = [x for x, got, right in zip(case.input, output, case.reference, strict=True) if got != right]
        words = "; ".join(f"answer({x}) must be {self._right(x)}" for x in wrong)
        return passed(not wrong, f"Wrong. {words}.")

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Mend one rule; a broken text is mended in its form, too."""
        rules = self._read(values)
        wrong = [r for r in self._rules if rules[r] != self._rules[r]]
        return {"code": _text(rules | {r: self._rules[r] for r in wrong and [rng.choice(wrong)]})}

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Spoil one rule, or the text."""
        text = _text(self._read(values))
        if rng.random() < BREAKS:
            return {"code": text.replace(",\n", "\n", 1)}
        rule = rng.randrange(self._count)
        return {"code": _text(self._read(values) | {rule: (rng.randint(2, 9), -rng.randint(1, 9))})}

    def _right(self, x: int) -> int:
        factor, more = self._rules[x % self._count]
        return factor * x + more

    def _read(self, values: Values) -> Rules:
        read = {int(r): (int(a), int(b)) for r, a, b in RULE.findall(str(values["code"]))}
        return {r: read.get(r, (0, 0)) for r in range(self._count)}


def _text(rules: Rules) -> str:
    lines = "".join(f"        {r}: {a} * x + {b},\n" for r, (a, b) in sorted(rules.items()))
    return f"def answer(x):\n    rules = {{\n{lines}    }}\n    return rules[x % {len(rules)}]\n"


CODE = Family(
    "code", "open", "A function of rules whose text breaks easily", "the share of examples that need two rules at once", Code,
    sandbox=(),
)  # fmt: skip
