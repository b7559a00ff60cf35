"""Capacitated facility location with given facilities: assign customers one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.options import CflpOptions
from tracebench_llm4ad.constructive.plane import Floats
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.returned import chosen, pair
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

PROGRAM = '''
from typing import List, Optional, Tuple


def select_next_assignment(
    assignments: List[List[int]],
    remaining_customers: List[int],
    remaining_capacities: List[int],
    customer_demands: List[int],
    assignment_costs: List[List[int]],
) -> Tuple[int, Optional[int]]:
    """Give the first customer to the cheapest facility that has room."""
    customer = remaining_customers[0]
    best = None
    for facility, room in enumerate(remaining_capacities):
        if customer_demands[customer] <= room:
            if best is None or assignment_costs[facility][customer] < assignment_costs[best][customer]:
                best = facility
    return customer, best
'''

OBJECTIVE = """
Design a heuristic for the capacitated facility location problem that assigns every customer to one facility, one customer at a time. \
The facilities are given and cost nothing to open; each has a capacity, and a customer's whole demand is served by one facility.
`select_next_assignment(assignments, remaining_customers, remaining_capacities, customer_demands, assignment_costs)` is called once per \
customer.
- `assignments` (list of lists of int): for every facility, the customers assigned to it so far.
- `remaining_customers` (list of int, at least one, ascending): the customers not yet assigned.
- `remaining_capacities` (list of int): every facility's free capacity.
- `customer_demands` (list of int): every customer's demand, 5 to 20.
- `assignment_costs` (list of lists of int): `assignment_costs[facility][customer]` is what serving the customer there costs, 1 to 150.
There are 10 facilities and 50 customers unless configured otherwise, and the facilities together hold 1.3 times the total demand.
Return a pair `(customer, facility)`: one of `remaining_customers`, and the index of a facility with enough free capacity. A customer \
that no facility can take any more ends the evaluation without a score.
Score: the mean total cost; lower is better.
"""


GROWTH = 1.05
"""Of capacities that are too small for the starting program."""


@dataclass(frozen=True, slots=True)
class Facilities:
    """Costs have shape (facilities, customers)."""

    capacities: npt.NDArray[np.int64]
    demands: npt.NDArray[np.int64]
    costs: npt.NDArray[np.int64]


def fits_in_order(instance: Facilities) -> bool:
    """Tell whether the starting program finds room for every customer: each in turn goes to the cheapest facility that has any."""
    free = instance.capacities.copy()
    for customer, demand in enumerate(instance.demands):
        roomy = np.flatnonzero(free >= demand)
        if not len(roomy):
            return False
        free[roomy[instance.costs[roomy, customer].argmin()]] -= demand
    return True


class CflpEvaluator(Evaluator[Facilities], StepwiseRules[Facilities]):
    """A solution is every customer's facility."""

    name = "optimization/cflp_construct"
    entry = "select_next_assignment"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the Lagrangian lower bound"

    def __init__(self, options: CflpOptions) -> None:
        super().__init__(options)
        self.facilities, self.customers, self.slack = options.n_facilities, options.n_customers, options.slack

    def generate(self, rng: np.random.Generator) -> Facilities:
        """Draw places in the unit square, costs of a hundred times the distance, demands from 5 to 20, and uneven capacities.

        Where the customers do not fit in their order, as with a facility for each, all capacities grow until they do.
        """
        difference = rng.random((self.facilities, 1, 2)) - rng.random((1, self.customers, 2))
        costs = 1 + np.rint(100 * np.sqrt((difference**2).sum(axis=2))).astype(np.int64)
        demands = rng.integers(5, 21, self.customers)
        shares = rng.uniform(0.5, 1.5, self.facilities)
        slack = self.slack
        while True:
            capacities = np.ceil(slack * demands.sum() * shares / shares.sum()).astype(np.int64)
            if fits_in_order(instance := Facilities(capacities, demands, costs)):
                return instance
            slack *= GROWTH

    def steps(self, instance: Facilities) -> Steps:
        """Assign one customer per call."""
        demands, costs = instance.demands.tolist(), instance.costs.tolist()
        free: list[int] = instance.capacities.tolist()
        assignments: list[list[int]] = [[] for _ in free]
        remaining = list(range(len(demands)))
        facility_of = [-1] * len(demands)
        while remaining:
            first, second = pair(
                (yield assignments, remaining, free, demands, costs).value, what="a pair (customer, facility)"
            )
            customer = chosen(first, allowed=remaining, what="an unassigned customer")
            if max(free) < demands[customer]:
                raise invalid(
                    f"Customer {customer} has demand {demands[customer]}, but the freest facility has only {max(free)} left: assign "
                    "large customers earlier."
                )
            facility = chosen(second, allowed=range(len(free)), what="a facility's index")
            if demands[customer] > free[facility]:
                raise invalid(
                    f"Customer {customer} has demand {demands[customer]}, facility {facility} only {free[facility]} left."
                )
            free[facility] -= demands[customer]
            assignments[facility].append(customer)
            remaining.remove(customer)
            facility_of[customer] = facility
        return facility_of

    def judge(self, instance: Facilities, solution: Any) -> Verdict:
        """Check every capacity; sum the costs."""
        facility_of = np.array(solution, dtype=np.int64)
        if (
            facility_of.shape != instance.demands.shape
            or facility_of.min() < 0
            or facility_of.max() >= len(instance.capacities)
        ):
            raise invalid("Every customer needs one existing facility.")
        loads = np.bincount(facility_of, weights=instance.demands, minlength=len(instance.capacities))
        if (loads > instance.capacities).any():
            worst = int(np.argmax(loads - instance.capacities))
            raise invalid(f"Facility {worst} serves {loads[worst]:.0f} of a capacity of {instance.capacities[worst]}.")
        paid = instance.costs[facility_of, np.arange(len(facility_of))]
        detours = paid - instance.costs.min(axis=0)
        far = int(np.argmax(detours))
        return Verdict(
            float(paid.sum()),
            f"{int((detours > 0).sum())} of {len(detours)} customers are not at their cheapest facility; customer {far} pays {paid[far]} "
            f"in place of {instance.costs[:, far].min()}.",
        )

    def draw(self, instance: Facilities, solution: Any) -> Drawing:
        """Draw it."""
        loads = np.bincount(solution, weights=instance.demands, minlength=len(instance.capacities))
        return kinds.bars(loads.tolist(), instance.capacities.tolist(), across="facility", up="load below capacity")

    def bound(self, instance: Facilities) -> float:
        """Return the bound of the problem with capacities priced instead of kept, by sub-gradient ascent."""
        prices: Floats = np.zeros(len(instance.capacities))
        best = 0.0
        for step in range(600):
            full = instance.costs + prices[:, None] * instance.demands
            best = max(best, float(full.min(axis=0).sum() - prices @ instance.capacities))
            loads = np.bincount(full.argmin(axis=0), weights=instance.demands, minlength=len(prices))
            prices = np.maximum(prices + 0.02 * 0.99**step * (loads - instance.capacities), 0)
        return best


build = loader(CflpEvaluator, CflpOptions)
"""Build the task."""
