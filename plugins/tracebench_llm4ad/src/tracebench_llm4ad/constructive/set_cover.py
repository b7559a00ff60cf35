"""Minimum set cover, subset by subset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.options import SetCoverOptions
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.returned import integers, shown
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

PROGRAM = '''
from typing import List


def select_next_subset(
    selected_subsets: List[List[int]], remaining_subsets: List[List[int]], remaining_elements: List[int]
) -> List[int]:
    """Take the subset that covers most elements still uncovered."""
    uncovered = set(remaining_elements)
    return max(remaining_subsets, key=lambda subset: len(uncovered.intersection(subset)))
'''

OBJECTIVE = """
Design a heuristic for the minimum set cover problem that covers all elements with few subsets, chosen one at a time.
`select_next_subset(selected_subsets, remaining_subsets, remaining_elements)` is called until every element is covered.
- `selected_subsets` (list of lists of int): the subsets chosen so far, each ascending.
- `remaining_subsets` (list of lists of int): the subsets not yet chosen, each ascending. There are 50 subsets of 2 to 8 elements unless \
configured otherwise; together they cover everything.
- `remaining_elements` (list of int, at least one, ascending): the elements not yet covered, of 50 in total.
Return one element of `remaining_subsets`, the subset to take next; one that covers nothing new counts all the same.
Score: the mean number of subsets taken; fewer is better.
"""


@dataclass(frozen=True, slots=True)
class Cover:
    """Elements 0 to `elements` - 1, and the distinct subsets to choose from."""

    elements: int
    subsets: tuple[tuple[int, ...], ...]


class SetCoverEvaluator(Evaluator[Cover], StepwiseRules[Cover]):
    """A solution is the list of chosen subsets."""

    name = "optimization/set_cover_construct"
    entry = "select_next_subset"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the Lagrangian lower bound, rounded up,"

    def __init__(self, options: SetCoverOptions) -> None:
        super().__init__(options)
        self.elements, self.count, self.largest = options.n_elements, options.n_subsets, options.max_subset_size

    def generate(self, rng: np.random.Generator) -> Cover:
        """Draw distinct subsets of 2 to `max_subset_size` elements; uncovered elements join random subsets."""
        subsets: set[tuple[int, ...]] = set()
        while len(subsets) < self.count:
            size = min(int(rng.integers(2, self.largest + 1)), self.elements)
            subsets.add(tuple(sorted(int(e) for e in rng.choice(self.elements, size, replace=False))))
        chosen = [set(subset) for subset in sorted(subsets)]
        rng.shuffle(chosen)
        for element in sorted(set(range(self.elements)).difference(*chosen)):
            chosen[int(rng.integers(self.count))].add(element)
        return Cover(self.elements, tuple(tuple(sorted(subset)) for subset in chosen))

    def steps(self, instance: Cover) -> Steps:
        """Take one subset per call."""
        selected: list[list[int]] = []
        remaining = [list(subset) for subset in instance.subsets]
        uncovered = set(range(instance.elements))
        while uncovered:
            answer = yield selected, remaining, sorted(uncovered)
            subset = sorted(integers(answer.value, what="one of `remaining_subsets`"))
            if subset not in remaining:
                raise invalid(f"The function must return one of `remaining_subsets`; {shown(subset)} is none of them.")
            remaining.remove(subset)
            selected.append(subset)
            uncovered.difference_update(subset)
        return selected

    def judge(self, instance: Cover, solution: Any) -> Verdict:
        """Check that the chosen subsets exist, are distinct and cover all; count them."""
        chosen = [tuple(subset) for subset in solution]
        if not set(chosen) <= set(instance.subsets) or len(set(chosen)) != len(chosen):
            raise invalid("A chosen subset is not one of the instance's, or is chosen twice.")
        missing = set(range(instance.elements)).difference(*chosen)
        if missing:
            raise invalid(f"Element {min(missing)} is not covered.")
        useful = sum(
            set(subset) - set().union(*chosen[:k], *chosen[k + 1 :]) != set() for k, subset in enumerate(chosen)
        )
        return Verdict(
            float(len(chosen)),
            f"{len(chosen) - useful} of its {len(chosen)} subsets cover nothing that the others do not.",
        )

    def draw(self, instance: Cover, solution: Any) -> Drawing:
        """Draw it."""
        covered = {element: k for k, subset in reversed([*enumerate(solution)]) for element in subset}
        cells = [
            (element, row, covered[element] if covered[element] == row else -1)
            for row, subset in enumerate(solution) for element in subset
        ]  # fmt: skip
        return kinds.grid(cells, note=f"{len(solution)} subsets as rows; grey: covered before")

    def bound(self, instance: Cover) -> float:
        """Return the Lagrangian bound, by sub-gradient ascent from the dual of equal shares, rounded up."""
        member = np.zeros((len(instance.subsets), instance.elements))
        for row, subset in zip(member, instance.subsets, strict=True):
            row[list(subset)] = 1
        prices = 1 / (member * member.sum(axis=1, keepdims=True)).max(axis=0)
        best = 0.0
        for step in range(600):
            reduced = 1 - member @ prices
            best = max(best, float(prices.sum() + np.minimum(reduced, 0).sum()))
            slope = 1 - member[reduced < 0].sum(axis=0)
            prices = np.maximum(prices + 0.1 * 0.99**step * slope, 0)
        return float(np.ceil(best - 1e-6))


build = loader(SetCoverEvaluator, SetCoverOptions)
"""Build the task."""
