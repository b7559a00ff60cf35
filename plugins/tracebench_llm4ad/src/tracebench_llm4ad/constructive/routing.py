"""Vehicle routes built customer by customer: the simulation and the verifier that the three routing tasks share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.constructive.options import RoutingOptions
from tracebench_llm4ad.constructive.plane import Floats, distances, held_karp_bound
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Evaluator, Verdict, invalid
from tracebench_llm4ad.returned import chosen
from tracebench_llm4ad.stepwise import Steps, StepwiseRules

HORIZON = 5.0
"""Opening time of the depot where customers have time windows; a customer is at most 1.42 away."""
LARGEST_DEMAND = 9


@dataclass(frozen=True, slots=True)
class Routing:
    """Node 0 is the depot, all other nodes are customers."""

    distance: Floats
    """Shape (n + 1, n + 1); travel time and cost alike."""
    demands: npt.NDArray[np.int64]
    """Shape (n + 1,); the depot's is 0."""
    capacity: int
    windows: Floats
    """Shape (n + 1, 2): earliest and latest start of service; without windows, 0 and infinity."""
    known: float | None = None
    """The best total length known."""


@dataclass(slots=True)
class Vehicle:
    """Where one vehicle stands, what it can still carry, and what time it is."""

    node: int
    rest: int
    now: float


class RoutingEvaluator(Evaluator[Routing], StepwiseRules[Routing]):
    """Routes from the depot; `closed` ones lead back to it and pay for the way."""

    entry = "select_next_node"
    closed: ClassVar[bool] = True
    timed: ClassVar[bool] = False

    def __init__(self, options: RoutingOptions) -> None:
        super().__init__(options)
        self.size = options.problem_size
        self.capacity = options.capacity

    def generate(self, rng: np.random.Generator) -> Routing:
        """Draw depot and customers uniformly from the unit square and demands from 1 to 9.

        A time window is 0.3 to 1.0 wide and lies where a vehicle that serves this customer alone is back by time 5.
        """
        distance = distances(rng.random((self.size + 1, 2)))
        demands = np.concatenate([[0], rng.integers(1, LARGEST_DEMAND + 1, self.size)])
        windows = np.tile([0.0, np.inf], (self.size + 1, 1))
        if self.timed:
            width = rng.uniform(0.3, 1.0, self.size)
            opening = distance[0, 1:] + rng.random(self.size) * (HORIZON - 2 * distance[0, 1:] - width)
            windows = np.vstack([[0.0, HORIZON], np.column_stack([opening, opening + width])])
        return Routing(distance, demands, self.capacity, windows)

    def arguments(self, instance: Routing, vehicle: Vehicle, fitting: list[int]) -> tuple[Any, ...]:
        """Return what the heuristic is called with."""
        customers = np.array(fitting, dtype=np.int64)
        return vehicle.node, 0, customers, vehicle.rest, instance.demands, instance.distance

    def steps(self, instance: Routing) -> Steps:
        """Build the routes one after another, one call per step."""
        unvisited = list(range(1, len(instance.demands)))
        routes: list[list[int]] = []
        while unvisited:
            vehicle = Vehicle(0, instance.capacity, 0.0)
            route: list[int] = []
            while fitting := [customer for customer in unvisited if fits(instance, vehicle, customer)]:
                allowed = [0, *fitting] if route else fitting
                answer = yield self.arguments(instance, vehicle, fitting)
                choice = chosen(answer.value, allowed=allowed, what="the next node")
                if choice == 0:
                    break
                drive(instance, vehicle, choice)
                route.append(choice)
                unvisited.remove(choice)
            routes.append(route)
        return routes

    def judge(self, instance: Routing, solution: Any) -> Verdict:
        """Check every route's capacity and times, and that each customer is served once; value their total length."""
        customers = len(instance.demands) - 1
        if sorted(customer for route in solution for customer in route) != list(range(1, customers + 1)):
            raise invalid(f"The routes must visit each of the {customers} customers exactly once.")
        lengths = [self._length(instance, route) for route in solution]
        loads = [int(instance.demands[route].sum()) for route in solution]
        costly = int(np.argmax([length / max(load, 1) for length, load in zip(lengths, loads, strict=True)]))
        return Verdict(
            sum(lengths),
            f"Of its {len(solution)} routes, number {costly + 1} costs most for what it carries: {lengths[costly]:.3f} long, load "
            f"{loads[costly]} of {instance.capacity}; at least {-(-int(instance.demands.sum()) // instance.capacity)} routes are needed.",
        )

    def draw(self, instance: Routing, solution: Any) -> Drawing:
        """Draw it."""
        return kinds.routes(kinds.places(instance.distance), solution, closed=self.closed, depot=0)

    def bound(self, instance: Routing) -> float:
        """Return the best length known, else the larger of Held and Karp's bound on one tour and the radial one (Haimovich et al. 1985)."""
        if instance.known is not None:
            return instance.known
        radial = 2 * float((instance.demands * instance.distance[0]).sum()) / instance.capacity
        return max(held_karp_bound(instance.distance), radial)

    def _length(self, instance: Routing, route: Sequence[int]) -> float:
        vehicle = Vehicle(0, instance.capacity, 0.0)
        length = 0.0
        for customer in route:
            if not fits(instance, vehicle, customer):
                raise invalid(
                    f"Customer {customer} (demand {instance.demands[customer]}, window {instance.windows[customer].tolist()}) "
                    f"does not fit a vehicle at node {vehicle.node} with {vehicle.rest} left at time {vehicle.now:.3f}."
                )
            length += float(instance.distance[vehicle.node, customer])
            drive(instance, vehicle, customer)
        return length + float(instance.distance[vehicle.node, 0]) if self.closed else length


def fits(instance: Routing, vehicle: Vehicle, customer: int) -> bool:
    """Say whether the vehicle can serve the customer next: load, window, and back at the depot in time."""
    start = max(vehicle.now + instance.distance[vehicle.node, customer], instance.windows[customer, 0])
    return bool(
        instance.demands[customer] <= vehicle.rest
        and start <= instance.windows[customer, 1]
        and start + instance.distance[customer, 0] <= instance.windows[0, 1]
    )


def drive(instance: Routing, vehicle: Vehicle, customer: int) -> None:
    """Move the vehicle to the customer and serve it, waiting for its window; service takes no time."""
    arrival = vehicle.now + float(instance.distance[vehicle.node, customer])
    vehicle.now = max(arrival, float(instance.windows[customer, 0]))
    vehicle.rest -= int(instance.demands[customer])
    vehicle.node = customer
