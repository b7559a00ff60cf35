"""0/1 knapsack, item by item; the value is maximised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.options import KnapsackOptions
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.returned import integers
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

PROGRAM = '''
from typing import List, Optional


def select_next_item(remaining_capacity: int, remaining_items: List[list]) -> Optional[list]:
    """Take the item of the highest value per weight."""
    return max(remaining_items, key=lambda item: item[1] / item[0])
'''

PARTS = 10_000
"""Of a unit, in which uniform weights and values are told."""
CORRELATED_WORDS = "Weights are 5 to 50, values 5 to 60"
UNIFORM_WORDS = f"Weights and values are 1 to {PARTS} each, and have nothing to do with each other"
OBJECTIVE = f"""
Design a heuristic for the 0/1 knapsack problem that fills a knapsack one item at a time.
`select_next_item(remaining_capacity, remaining_items)` is called as long as an unpacked item fits.
- `remaining_capacity` (int): what still fits; it starts with 100 unless configured otherwise.
- `remaining_items` (list of `[weight, value, index]`, all int, at least one): the unpacked items whose weight fits; all others are not \
offered. {CORRELATED_WORDS}; there are 50 items unless configured otherwise.
Return one element of `remaining_items`, the item to pack next; or None to stop packing.
Score: the mean total value of the packed items; higher is better.
"""


@dataclass(frozen=True, slots=True)
class Knapsack:
    """Items as (weight, value, index) and what they may weigh together."""

    items: tuple[tuple[int, int, int], ...]
    capacity: int


class KnapsackEvaluator(Evaluator[Knapsack], StepwiseRules[Knapsack]):
    """A solution is the list of packed indices; the bound is the optimum, by dynamic programming."""

    name = "optimization/knapsack_construct"
    entry = "select_next_item"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the optimum (dynamic programming)"

    def __init__(self, options: KnapsackOptions) -> None:
        super().__init__(options)
        self.size, self.capacity, self.draw_kind = options.n_items, options.knapsack_capacity, options.draw
        if options.draw == "uniform":
            self.objective = self.objective.replace(CORRELATED_WORDS, UNIFORM_WORDS)

    def generate(self, rng: np.random.Generator) -> Knapsack:
        """Draw weights from 5 to 50 and values of 5 above or below the weight times 0.6 to 1.2, at least 5; or both from 1 to 10,000."""
        if self.draw_kind == "uniform":
            drawn = rng.integers(1, PARTS + 1, (self.size, 2))
            return Knapsack(tuple((int(w), int(v), i) for i, (w, v) in enumerate(drawn)), self.capacity)
        weights = rng.integers(5, 51, self.size)
        values = np.maximum(5, np.rint(weights * rng.uniform(0.6, 1.2, self.size) + rng.integers(-5, 6, self.size)))
        items = tuple((int(w), int(min(v, 60)), i) for i, (w, v) in enumerate(zip(weights, values, strict=True)))
        return Knapsack(items, self.capacity)

    def steps(self, instance: Knapsack) -> Steps:
        """Pack one item per call."""
        rest = instance.capacity
        packed: list[int] = []
        while fitting := [list(item) for item in instance.items if item[0] <= rest and item[2] not in packed]:
            answer = yield rest, fitting
            if answer.value is None:
                break
            item = integers(answer.value, length=3, what="an item `[weight, value, index]` or None")
            if item not in fitting:
                raise invalid(f"The function must return one of `remaining_items`; {item} is none of them.")
            packed.append(item[2])
            rest -= item[0]
        return packed

    def judge(self, instance: Knapsack, solution: Any) -> Verdict:
        """Check that no item is packed twice and that the weight fits; value the sum."""
        if len(set(solution)) != len(solution):
            raise invalid(f"An item is packed twice: {sorted(solution)}.")
        weight = sum(instance.items[i][0] for i in solution)
        if weight > instance.capacity:
            raise invalid(f"The packed items weigh {weight}, the knapsack holds {instance.capacity}.")
        value = sum(instance.items[i][1] for i in solution)
        return Verdict(float(value), f"It packs {len(solution)} items that weigh {weight} of {instance.capacity}.")

    def draw(self, instance: Knapsack, solution: Any) -> Drawing:
        """Draw it."""
        drawing = Drawing(note="orange: packed", is_map=False, across="weight", up="value")
        packed = {*solution}
        drawing.dots([(weight, value) for weight, value, index in instance.items if index not in packed], 0)
        drawing.dots([(weight, value) for weight, value, index in instance.items if index in packed], 1)
        return drawing

    def bound(self, instance: Knapsack) -> float:
        """Return the optimum (Bellman's recursion over capacities)."""
        best = np.zeros(instance.capacity + 1, dtype=np.int64)
        for weight, value, _ in instance.items:
            best[weight:] = np.maximum(best[weight:], best[: len(best) - weight] + value)
        return float(best[-1])


build = loader(KnapsackEvaluator, KnapsackOptions)
"""Build the task."""
