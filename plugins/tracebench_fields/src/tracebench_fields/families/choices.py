"""`costs`: a few choices, each with a benefit and a price; what is dear is rarely worth it."""

from __future__ import annotations

import itertools
import random
from typing import Any

from tracebench_core.contracts import Context
from tracebench_core.specs import Feedback, Parameter, Split, Values
from tracebench_fields.field import Case, Family, Field, Size

COUNTS: dict[Size, int] = {"small": 4, "medium": 5, "large": 6}
PARTS = ("cache", "index", "review", "search", "voting", "memory")
OPTIONS = ("none", "light", "full", "double")


class Costs(Field):
    """Parameters of kind `choice`; the score is benefit less price, and pairs of choices change each other's benefit."""

    objective = "Choose for each part how much of it to use: the score is what it brings less what it costs."

    def __init__(self, rng: random.Random, size: Size, deception: float) -> None:
        self._names = PARTS[: COUNTS[size]]
        count = len(self._names)
        self._worth = [[0.0, *sorted(rng.uniform(0.1, 1.0) for _ in OPTIONS[1:])] for _ in self._names]
        self._price = [[0.0, *sorted(rng.uniform(0.05, 0.9) for _ in OPTIONS[1:])] for _ in self._names]
        self._pairs = {
            (i, j): [
                [rng.gauss(0.0, 0.6 * deception) if a and b else 0.0 for b in range(len(OPTIONS))]
                for a in range(len(OPTIONS))
            ]
            for i, j in itertools.combinations(range(count), 2)
        }
        nets = {picks: self._net(picks) for picks in itertools.product(range(len(OPTIONS)), repeat=count)}
        self._least, self._most = min(nets.values()), max(nets.values())
        best = max(nets, key=nets.__getitem__)
        start = tuple([len(OPTIONS) - 1] * count)
        self.parameters = tuple(
            Parameter(name=n, initial=OPTIONS[pick], kind="choice", choices=OPTIONS)
            for n, pick in zip(self._names, start, strict=True)
        )
        self.optimum = {n: OPTIONS[pick] for n, pick in zip(self._names, best, strict=True)}

    def case(self, _split: Split, rng: random.Random) -> Case:
        """Draw the part whose share an example tells of."""
        return Case("a day", rng.choice(self._names))

    def output(self, values: Values, given: Any, _context: Context) -> Any:
        """Return what was picked."""
        return tuple(OPTIONS.index(str(values[name])) for name in self._names)

    def verdict(self, case: Case, output: Any) -> Feedback:
        """Score what is left: 1 for the most that any choice leaves, 0 for the least."""
        i = self._names.index(case.reference)
        text = f"{case.reference} brings {self._worth[i][output[i]]:.2f} and costs {self._price[i][output[i]]:.2f}."
        price = sum(prices[pick] for prices, pick in zip(self._price, output, strict=True))
        return Feedback(score=self._share(output), text=text, metrics={"price": price})

    def improve(self, values: Values, rng: random.Random) -> Values:
        """Change one choice for the better."""
        return self._moved(values, rng, up=True)

    def harm(self, values: Values, rng: random.Random) -> Values:
        """Change one choice for the worse."""
        return self._moved(values, rng, up=False)

    def _moved(self, values: Values, rng: random.Random, *, up: bool) -> Values:
        known = {p.name: p.initial for p in self.parameters} | values
        here = self.output(known, None, None)  # type: ignore[arg-type]  # no context is read
        net = self._net(here)
        open_ = [i for i, name in enumerate(self._names) if name in values]
        found = []
        for i, pick in itertools.product(open_, range(len(OPTIONS))):
            moved = (*here[:i], pick, *here[i + 1 :])
            if (self._net(moved) > net) if up else (self._net(moved) < net):
                found.append(moved)
        picked = rng.choice(found) if found else here
        return {n: OPTIONS[pick] for n, pick in zip(self._names, picked, strict=True) if n in values}

    def _net(self, picks: tuple[int, ...]) -> float:
        total = sum(self._worth[i][pick] - self._price[i][pick] for i, pick in enumerate(picks))
        return total + sum(table[picks[i]][picks[j]] for (i, j), table in self._pairs.items())

    def _share(self, picks: tuple[int, ...]) -> float:
        return (self._net(picks) - self._least) / (self._most - self._least)


COSTS = Family(
    "costs", "held", "Choices that cost what they bring", "how strongly choices change each other's benefit", Costs, graded=True,
)  # fmt: skip
