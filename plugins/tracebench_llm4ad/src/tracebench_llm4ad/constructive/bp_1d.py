"""One-dimensional bin packing, item by item."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.options import Bp1dOptions
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.packing_bound import martello_toth
from tracebench_llm4ad.returned import chosen, pair, whole
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

PROGRAM = '''
from typing import List, Optional, Tuple


def determine_next_assignment(remaining_items: List[int], remaining_capacities: List[int]) -> Tuple[int, Optional[int]]:
    """Put the first item that fits an open bin into the first such bin; else open a bin for the first item."""
    for item in remaining_items:
        for bin_id, capacity in enumerate(remaining_capacities):
            if item <= capacity:
                return item, bin_id
    return remaining_items[0], None
'''

OBJECTIVE = """
Design a heuristic for one-dimensional bin packing that packs all items into few bins, one item at a time. All items are known.
`determine_next_assignment(remaining_items, remaining_capacities)` is called once per item.
- `remaining_items` (list of int, at least one): the sizes of the unpacked items, 20 to 100 each, in a fixed random order; equal sizes \
may occur.
- `remaining_capacities` (list of int): the free space of every open bin; empty at first. A bin holds 150 unless configured otherwise, \
and there are 120 items.
Return a pair `(item, bin)`: the size of one of `remaining_items`, and the index of the open bin in `remaining_capacities` that takes \
it, or None to open a new bin for it. The item must fit.
Score: the mean number of bins used; fewer is better.
"""


@dataclass(frozen=True, slots=True)
class Items:
    """Item sizes and the size of a bin."""

    sizes: tuple[int, ...]
    capacity: int


class Bp1dEvaluator(Evaluator[Items], StepwiseRules[Items]):
    """A solution is the list of bins, each a list of sizes."""

    name = "optimization/bp_1d_construct"
    entry = "determine_next_assignment"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the Martello-Toth lower bound"

    def __init__(self, options: Bp1dOptions) -> None:
        super().__init__(options)
        self.size, self.capacity = options.n_items, options.bin_capacity

    def generate(self, rng: np.random.Generator) -> Items:
        """Draw sizes uniformly from 20 to 100, as Falkenauer (1996) does for bins of 150."""
        return Items(tuple(int(s) for s in rng.integers(20, 101, self.size)), self.capacity)

    def steps(self, instance: Items) -> Steps:
        """Pack one item per call."""
        remaining = list(instance.sizes)
        free: list[int] = []
        bins: list[list[int]] = []
        while remaining:
            first, second = pair((yield remaining, free).value, what="a pair (item, bin)")
            item = whole(first, what="the size of an unpacked item")
            if item not in remaining:
                raise invalid(f"No unpacked item has size {item}.")
            if second is None:
                free.append(instance.capacity)
                bins.append([])
            where = (
                len(bins) - 1
                if second is None
                else chosen(second, allowed=range(len(bins)), what="a bin's index or None")
            )
            if item > free[where]:
                raise invalid(f"An item of size {item} does not fit bin {where}, which has {free[where]} left.")
            remaining.remove(item)
            free[where] -= item
            bins[where].append(item)
        return bins

    def judge(self, instance: Items, solution: Any) -> Verdict:
        """Check that every item is packed once and no bin overflows; count the bins."""
        if sorted(size for packed in solution for size in packed) != sorted(instance.sizes):
            raise invalid(f"Each of the {len(instance.sizes)} items must be packed exactly once.")
        loads = [sum(packed) for packed in solution]
        if max(loads) > instance.capacity:
            raise invalid(f"Bin {loads.index(max(loads))} holds {max(loads)} of {instance.capacity}.")
        emptiest = int(np.argmin(loads))
        return Verdict(
            float(len(loads)),
            f"Its emptiest bin holds {loads[emptiest]} of {instance.capacity}, and {waste(loads, instance)} is wasted.",
        )

    def draw(self, instance: Items, solution: Any) -> Drawing:
        """Draw it."""
        return kinds.stacks(solution, capacity=instance.capacity)

    def bound(self, instance: Items) -> float:
        """Return bound L2 of Martello and Toth (1990)."""
        return float(martello_toth(instance.sizes, instance.capacity))


def waste(loads: list[int], instance: Items) -> str:
    """Return the free share of all bins in per cent."""
    return f"{1 - sum(loads) / (len(loads) * instance.capacity):.1%} of the space"


build = loader(Bp1dEvaluator, Bp1dOptions)
"""Build the task."""
