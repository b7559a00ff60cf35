"""Quadratic assignment, facility by facility."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.options import QapOptions
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.returned import integers
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

PROGRAM = '''
from typing import List

import numpy as np


def select_next_assignment(
    current_assignment: List[int], flow_matrix: np.ndarray, distance_matrix: np.ndarray
) -> List[int]:
    """Put the first unassigned facility at the first free location."""
    free = [location for location in range(len(current_assignment)) if location not in current_assignment]
    current_assignment[current_assignment.index(-1)] = free[0]
    return current_assignment
'''

OBJECTIVE = """
Design a heuristic for the quadratic assignment problem that puts every facility at a location of its own, step by step.
`select_next_assignment(current_assignment, flow_matrix, distance_matrix)` is called until every facility has its location.
- `current_assignment` (list of int, length n): entry f is the location of facility f, or -1 while it has none; all -1 at first.
- `flow_matrix` (int array, shape (n, n)): the flow from facility to facility, 0 to 99, symmetric with zero diagonal.
- `distance_matrix` (int array, shape (n, n)): the distance from location to location, 0 to 99, symmetric with zero diagonal.
n is 30 unless configured otherwise.
Return the updated assignment, a list of n ints: what was assigned stays, and one or more facilities that had -1 get free locations.
Score: the mean over instances of the sum, over all facilities f and g, of flow[f, g] times the distance from f's location to g's; \
lower is better.
"""

UNASSIGNED = -1


@dataclass(frozen=True, slots=True)
class Qap:
    """Both of shape (n, n)."""

    flow: npt.NDArray[np.int64]
    distance: npt.NDArray[np.int64]


class QapEvaluator(Evaluator[Qap], StepwiseRules[Qap]):
    """A solution is every facility's location."""

    name = "optimization/qap_construct"
    entry = "select_next_assignment"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the Gilmore-Lawler lower bound (its assignment relaxed to row and column minima)"

    def __init__(self, options: QapOptions) -> None:
        super().__init__(options)
        self.size = options.n_facilities

    def generate(self, rng: np.random.Generator) -> Qap:
        """Draw symmetric flows and distances uniformly from 0 to 99, with zero diagonals (as Taillard's `a` instances do)."""
        flow, distance = np.triu(rng.integers(0, 100, (2, self.size, self.size)), k=1)
        return Qap(flow + flow.T, distance + distance.T)

    def steps(self, instance: Qap) -> Steps:
        """Extend the assignment until it is complete; every call must assign something, so n calls are enough."""
        current = [UNASSIGNED] * len(instance.flow)
        while UNASSIGNED in current:
            answer = yield current, instance.flow, instance.distance
            updated = integers(answer.value, length=len(current), what="the updated assignment")
            check_step(current, updated)
            current = updated
        return current

    def judge(self, instance: Qap, solution: Any) -> Verdict:
        """Check that the assignment is a permutation; sum flow times distance."""
        if sorted(solution) != list(range(len(instance.flow))):
            raise invalid("The assignment must give every facility a location of its own.")
        costs = instance.flow * instance.distance[np.ix_(solution, solution)]
        shares = costs.sum(axis=0) + costs.sum(axis=1)
        dear = int(np.argmax(shares))
        return Verdict(
            float(costs.sum()),
            f"Facility {dear} at location {solution[dear]} takes part in {shares[dear] / costs.sum():.1%} of the cost.",
        )

    def draw(self, instance: Qap, solution: Any) -> Drawing:
        """Draw it."""
        costs = instance.flow * instance.distance[np.ix_(solution, solution)]
        shares = costs.sum(axis=0) + costs.sum(axis=1)
        most = [float(shares.max())] * len(shares)
        return kinds.bars(shares.tolist(), most, across="facility", up="its part of the cost")

    def bound(self, instance: Qap) -> float:
        """Return the Gilmore-Lawler bound with a dual-feasible solution in place of its linear assignment problem."""
        size = len(instance.flow)
        outside = ~np.eye(size, dtype=bool)
        flows = np.sort(instance.flow[outside].reshape(size, size - 1), axis=1)
        lengths = np.sort(instance.distance[outside].reshape(size, size - 1), axis=1)[:, ::-1]
        costs = flows @ lengths.T
        rows = costs.min(axis=1, keepdims=True)
        return float(rows.sum() + (costs - rows).min(axis=0).sum())


def check_step(before: list[int], after: list[int]) -> None:
    """Refuse an update that moves a facility, assigns none, leaves the range or uses a location twice."""
    size = len(before)
    for facility, (old, new) in enumerate(zip(before, after, strict=True)):
        if old not in {UNASSIGNED, new}:
            raise invalid(f"Facility {facility} is at location {old} and may not move to {new}.")
        if not UNASSIGNED <= new < size:
            raise invalid(f"Facility {facility} got location {new}; locations are 0 to {size - 1}.")
    used = [location for location in after if location != UNASSIGNED]
    if len(set(used)) != len(used):
        twice = next(location for location in used if used.count(location) > 1)
        raise invalid(f"Location {twice} is given to two facilities.")
    if after == before:
        raise invalid("The function must assign at least one more facility; it returned the assignment unchanged.")


build = loader(QapEvaluator, QapOptions)
"""Build the task."""
