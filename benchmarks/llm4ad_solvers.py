"""Solvers that take a candidate's place in `llm4ad_published.py`: OR-Tools (Apache-2.0) and PyVRP (MIT), where they are installed.

    uv run --with ortools --with pyvrp python benchmarks/llm4ad_published.py --only ortools

Every solution goes through the verifier of its task, like a candidate's.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracebench_llm4ad.constructive.knapsack import Knapsack
from tracebench_llm4ad.constructive.plane import Floats
from tracebench_llm4ad.constructive.routing import Routing
from tracebench_llm4ad.constructive.tsp import Tsp

ITERATIONS = 2000
"""Of PyVRP's search for one instance."""
PARTS = 1_000_000
"""Of a unit: both count distances in whole numbers."""


def solution(solver: str, instance: Any) -> Any:
    """Return a solver's solution of an instance, in the form that the task's verifier takes."""
    return SOLVERS[solver, type(instance)](instance)


def whole(distance: Floats) -> Any:
    """Return distances as whole numbers, shape (n, n)."""
    exact = bool((distance == np.rint(distance)).all())
    return np.rint(distance if exact else distance * PARTS).astype(np.int64)


def pyvrp_routes(distance: Floats, demands: Sequence[int], capacity: int) -> list[list[int]]:
    """Return routes from node 0 by PyVRP's iterated local search, each the nodes in their order."""
    pyvrp = importlib.import_module("pyvrp")
    limit = importlib.import_module("pyvrp.stop").MaxIterations(ITERATIONS)
    model = pyvrp.Model()
    places = [model.add_location(0, 0) for _ in demands]
    model.add_depot(location=places[0])
    for place, demand in zip(places[1:], demands[1:], strict=True):
        model.add_client(location=place, delivery=int(demand))
    model.add_vehicle_type(len(demands) if capacity else 1, capacity=capacity)
    steps = whole(distance)
    for i, one in enumerate(places):
        for j, other in enumerate(places):
            if i != j:
                model.add_edge(one, other, distance=int(steps[i, j]))
    best = model.solve(limit, seed=1, display=False).best
    return [[stop.idx + 1 for stop in route if stop.is_client()] for route in best.routes()]


def pyvrp_tour(instance: Tsp) -> list[int]:
    """Return a tour from city 0."""
    (route,) = pyvrp_routes(instance.distance, [0] * len(instance.distance), 0)
    return [0, *route]


def pyvrp_vehicles(instance: Routing) -> list[list[int]]:
    """Return vehicles' routes."""
    return pyvrp_routes(instance.distance, instance.demands.tolist(), instance.capacity)


def ortools_tour(instance: Tsp) -> list[int]:
    """Return a tour by OR-Tools' routing library, its defaults: the cheapest arc first, then local search until nothing is gained."""
    routing = importlib.import_module("ortools.constraint_solver.pywrapcp")
    enums = importlib.import_module("ortools.constraint_solver.routing_enums_pb2")
    size = len(instance.distance)
    nodes = routing.RoutingIndexManager(size, 1, 0)
    model = routing.RoutingModel(nodes)
    model.SetArcCostEvaluatorOfAllVehicles(model.RegisterTransitMatrix(whole(instance.distance).tolist()))
    search = routing.DefaultRoutingSearchParameters()
    search.first_solution_strategy = enums.FirstSolutionStrategy.PATH_CHEAPEST_ARC
    found = model.SolveWithParameters(search)
    tour, index = [], model.Start(0)
    while not model.IsEnd(index):
        tour.append(nodes.IndexToNode(index))
        index = found.Value(model.NextVar(index))
    return tour


def ortools_items(instance: Knapsack) -> list[int]:
    """Return the items of an optimal knapsack, by CP-SAT."""
    sat = importlib.import_module("ortools.sat.python.cp_model")
    model = sat.CpModel()
    packed = [model.new_bool_var(f"{index}") for *_, index in instance.items]
    model.add(sum(x * weight for x, (weight, _, _) in zip(packed, instance.items, strict=True)) <= instance.capacity)
    model.maximize(sum(x * value for x, (_, value, _) in zip(packed, instance.items, strict=True)))
    solver = sat.CpSolver()
    if solver.solve(model) != sat.OPTIMAL:
        raise SystemExit("CP-SAT did not prove an optimum.")
    return [index for x, (*_, index) in zip(packed, instance.items, strict=True) if solver.value(x)]


SOLVERS: Mapping[tuple[str, type], Callable[[Any], Any]] = {
    ("pyvrp", Tsp): pyvrp_tour,
    ("pyvrp", Routing): pyvrp_vehicles,
    ("ortools", Tsp): ortools_tour,
    ("ortools", Knapsack): ortools_items,
}
