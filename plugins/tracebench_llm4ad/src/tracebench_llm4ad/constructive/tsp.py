"""Travelling salesman, built city by city."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracebench_core.specs import Split
from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.libraries import TSPLIB, deal, drawn_cities, library_instances
from tracebench_llm4ad.constructive.options import TspOptions
from tracebench_llm4ad.constructive.plane import Floats, distances, held_karp_bound
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.returned import chosen
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

PROGRAM = '''
import numpy as np


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray
) -> int:
    """Go to the nearest unvisited city."""
    return int(unvisited_nodes[np.argmin(distance_matrix[current_node][unvisited_nodes])])
'''

UNIFORM_WORDS = (
    "Euclidean distances between all cities, which are uniform in the unit square (n = 50 unless configured otherwise)"
)
OF_TSPLIB = "distances between all cities, whole numbers (an instance of TSPLIB)"
OBJECTIVE = f"""
Design a heuristic that builds a short round trip through all cities (travelling salesman problem) one city at a time.
The tour starts at city 0. `select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix)` is called once per step \
while at least two cities are unvisited; the last one and the way back to city 0 follow by themselves.
- `current_node` (int): the city where the tour stands.
- `destination_node` (int): the city where the tour must end, always 0.
- `unvisited_nodes` (int array, shape (k,)): the cities not yet visited, ascending.
- `distance_matrix` (float array, shape (n, n)): {UNIFORM_WORDS}; symmetric, zero diagonal.
Return one element of `unvisited_nodes`, the next city, as an int.
Score: the mean length of the closed tours; shorter is better. A city that is not in `unvisited_nodes` is refused.
"""


@dataclass(frozen=True, slots=True)
class Tsp:
    """Cities as their distance matrix, shape (n, n), and the optimal length where it is known."""

    distance: Floats
    known: float | None = None


class TspEvaluator(Evaluator[Tsp], StepwiseRules[Tsp]):
    """Closed tours over uniform points; the bound is Held and Karp's, typically within 1 % of the optimum."""

    name = "optimization/tsp_construct"
    entry = "select_next_node"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the Held-Karp lower bound"

    def __init__(self, options: TspOptions) -> None:
        super().__init__(options)
        self.size, self.data = options.problem_size, options.data
        if options.data == "real":
            self.dealt = deal(library_instances(TSPLIB, ".tsp"), options, name=self.name)
            self.objective = self.objective.replace(UNIFORM_WORDS, OF_TSPLIB)
            self.bound_source = "TSPLIB's optimum (where it has none, the Held-Karp lower bound)"

    def batches(self, split: Split, salt: str = "") -> Iterator[Sequence[Tsp]]:
        """Yield generated batches, or ReEvo's set as one batch, or TSPLIB's instances one by one."""
        if self.data == "generated":
            yield from super().batches(split, salt)
        elif self.data == "real":
            yield from ([Tsp(each.distance, each.known)] for each in self.dealt[split])
        elif split == "train" or getattr(self.options, f"n_{split}"):
            points = drawn_cities(split, self.size)
            if points is not None:
                yield [Tsp(distances(cities)) for cities in points[: self.options.n_instance]]

    def generate(self, rng: np.random.Generator) -> Tsp:
        """Draw `problem_size` points uniformly from the unit square."""
        return Tsp(distances(rng.random((self.size, 2))))

    def steps(self, instance: Tsp) -> Steps:
        """Build the tour, one call per step."""
        tour = [0]
        unvisited = list(range(1, len(instance.distance)))
        while len(unvisited) > 1:
            answer = yield tour[-1], 0, np.array(unvisited, dtype=np.int64), instance.distance
            tour.append(chosen(answer.value, allowed=unvisited, what="the next city"))
            unvisited.remove(tour[-1])
        return tour + unvisited

    def judge(self, instance: Tsp, solution: Any) -> Verdict:
        """Value a permutation of all cities as a closed tour."""
        size = len(instance.distance)
        if sorted(solution) != list(range(size)):
            raise invalid(f"The tour must visit each of the {size} cities exactly once.")
        legs = instance.distance[solution, np.roll(solution, -1)]
        longest = int(np.argmax(legs))
        after = solution[(longest + 1) % size]
        return Verdict(
            float(legs.sum()),
            f"Its longest leg, {solution[longest]} to {after}, is step {longest + 1} of {size} and {legs[longest]:.3f} long "
            f"(mean leg {legs.mean():.3f}).",
        )

    def draw(self, instance: Tsp, solution: Any) -> Drawing:
        """Draw it."""
        return kinds.routes(kinds.places(instance.distance), [solution])

    def bound(self, instance: Tsp) -> float:
        """Return the optimum where it is known, else the Held-Karp bound."""
        return held_karp_bound(instance.distance) if instance.known is None else instance.known


build = loader(TspEvaluator, TspOptions)
"""Build the task."""
