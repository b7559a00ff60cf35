"""`routes`: a table that sends each kind of request to one of a few handlers."""

from __future__ import annotations

import random
from typing import Any

from tracebench_core.contracts import Context, EvaluationFailed
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.field import Case, Family, Field, Size, passed

COUNTS: dict[Size, int] = {"small": 6, "medium": 10, "large": 16}
SPOILT = 0.85
"""Share of the kinds that are sent the wrong way at first."""
HANDLERS = ("search", "calculator", "calendar", "database", "mail")


class Routes(Field):
    """One parameter, a JSON object from kind to handler; common kinds are met far more often than rare ones."""

    objective = f"Send each kind of request to the handler that can deal with it: {', '.join(HANDLERS)}."

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        self._kinds = [f"kind-{i}" for i in range(COUNTS[size])]
        self._right = {kind: rng.choice(HANDLERS) for kind in self._kinds}
        self._wrong_share = 0.4 * deception
        start = {
            kind: _other(self._right[kind], rng) if rng.random() < SPOILT else self._right[kind] for kind in self._kinds
        }
        self.parameters = (Parameter(name="table", initial=dict(start), kind="json"),)
        self.optimum = {"table": dict(self._right)}

    def case(self, split: Split, rng: random.Random) -> Case:
        """Draw a request; a share of those of train is labelled wrongly where the field deceives."""
        kind = rng.choices(self._kinds, [1 / (i + 1) for i in range(len(self._kinds))])[0]
        right = self._right[kind]
        return Case(kind, _other(right, rng) if split == "train" and rng.random() < self._wrong_share else right)

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Look the handler up.

        Raises:
            EvaluationFailed: the table is no object of names.
        """
        table = values["table"]
        if not isinstance(table, dict):
            raise EvaluationFailed(
                Feedback(score=0.0, status="invalid", text="`table` must be an object from kind to handler.")
            )
        return table.get(given)

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Pass what reached the right handler."""
        return passed(output == case.reference, f"{case.input} went to {output}, and belongs to {case.reference}.")

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Send one kind the right way."""
        table = self._table(values)
        wrong = [kind for kind in self._kinds if table.get(kind) != self._right[kind]] or self._kinds
        kind = rng.choice(wrong)
        return {"table": table | {kind: self._right[kind]}}

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Send one kind the wrong way."""
        kind = rng.choice(self._kinds)
        return {"table": self._table(values) | {kind: _other(self._right[kind], rng)}}

    @staticmethod
    def _table(values: Values) -> dict[str, Any]:
        table = values["table"]
        return dict(table) if isinstance(table, dict) else {}


def _other(handler: str, rng: random.Random) -> str:
    return rng.choice([h for h in HANDLERS if h != handler])


ROUTES = Family(
    "routes", "open", "A table of requests and handlers", "a share (0.4 of it) of train's labels that are wrong", Routes,
)  # fmt: skip
