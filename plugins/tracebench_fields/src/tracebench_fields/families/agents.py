"""`agents`: a team of three prompts; an example is passed only when each of them is good enough for it."""

from __future__ import annotations

import random
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.families.clauses import Clauses
from tracebench_fields.field import Case, Family, Field, Size, passed

COUNTS: dict[Size, int] = {"small": 4, "medium": 6, "large": 8}
MEMBERS = ("planner", "solver", "checker")
BASE = 0.5


class Agents(Field):
    """Three parameters; what one of them gains shows only where the others do not fail."""

    objective = "Find instructions for the planner, the solver and the checker with which most examples are passed."

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        self._parts = {n: Clauses(rng, COUNTS[size], deception=deception, base=BASE) for n in MEMBERS}
        self.parameters = tuple(
            Parameter(name=n, initial=c.write(c.start, _opening(n)), max_length=4000) for n, c in self._parts.items()
        )
        self.optimum = {n: c.write(c.best, _opening(n)) for n, c in self._parts.items()}

    def case(self, _split: Split, rng: random.Random) -> Case:
        """Draw how hard an example is for each member, and which hint it gives."""
        return Case(f"job {rng.randrange(10**6)}", ([1.0 - rng.random() for _ in MEMBERS], rng.randrange(2**32)))

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Return the sentences that each member is told."""
        return {name: clauses.read(str(values[name])) for name, clauses in self._parts.items()}

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Pass what no member fails, and blame the first that does."""
        hardness, draw = case.reference
        for (name, clauses), hard in zip(self._parts.items(), hardness, strict=True):
            if clauses.quality(output[name]) < hard - 1e-12:
                hint = clauses.hint(output[name], random.Random(draw))  # noqa: S311 - reproducible, not secret
                return passed(False, f"The {name} failed. {hint}")  # noqa: FBT003
        return passed(True, "")  # noqa: FBT003

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Change one member for the better."""
        held = {name: self._parts[name].read(str(values[name])) for name in MEMBERS if name in values}
        open_ = [name for name in held if held[name] != self._parts[name].best] or list(held)
        name = rng.choice(open_)
        return self._with(values, name, self._parts[name].better(held[name], rng))

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Change one member for the worse."""
        name = rng.choice([name for name in MEMBERS if name in values])
        held = self._parts[name].read(str(values[name]))
        return self._with(values, name, self._parts[name].worse(held, rng))

    def _with(self, values: Values, name: str, held: int) -> Values:
        return {**values, name: self._parts[name].write(held, _opening(name))}


def _opening(name: str) -> str:
    return f"You are the {name}."


AGENTS = Family(
    "agents", "open", "Three prompts of a team, each of which can spoil an example",
    "the share of helpful sentences that help only in pairs, and harm alone", Agents,
)  # fmt: skip
