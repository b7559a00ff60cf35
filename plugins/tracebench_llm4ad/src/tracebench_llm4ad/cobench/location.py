"""Places that serve customers: warehouse location and p-median, each with and without capacities, in OR-Library's formats."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, distinct, finite, part, rows
from tracebench_llm4ad.drawings.drawing import OUTLINE, Drawing
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import array, integers

TOLERANCE = 1e-6
"""Relative tolerance of amounts that are shipped."""
DEFAULT_CAPACITY = 5000.0
"""Where a file says `capacity` in place of a number (`capa`, `capb`, `capc`): a capacity the library leaves to the user."""


class UncapacitatedWarehouses(Problem):
    """Every customer is served by one open warehouse."""

    name = "optimization/co_bench/uncapacitated_warehouse_location_co_bench"
    folder = "Uncapacitated warehouse location"
    program = '''
def solve(m: int, n: int, warehouses: list, customers: list) -> dict:
    """Open the one warehouse that serves everybody at the least cost."""
    def cost(j):
        return warehouses[j]["fixed_cost"] + sum(c["costs"][j] for c in customers)

    best = min(range(m), key=cost)
    chosen = [1 if j == best else 0 for j in range(m)]
    return {"total_cost": cost(best), "warehouse_open": chosen, "assignments": [list(chosen) for _ in range(n)]}
'''
    objective = """
Uncapacitated warehouse location: open warehouses and assign each customer to an open one at the least total cost. Write `solve(m, n, \
warehouses, customers)`.
- `m`, `n` (int): possible warehouses and customers.
- `warehouses` (list of m dicts): `"fixed_cost"` (float) of opening it.
- `customers` (list of n dicts): `"costs"` (list of m floats) of serving the whole customer from each warehouse.
Return `{"total_cost": number, "warehouse_open": [...], "assignments": [[...], ...]}`: m numbers 0 or 1, and n lists of m numbers 0 or 1 \
with a single 1 for the customer's warehouse, which must be open. The cost is computed by the evaluator.
Score: minus (fixed costs of the open warehouses + costs of serving), averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `cap` files; capacities and demands are there and not used."""
        m, n, stores, customers = read_cap(text)
        warehouses = [{"fixed_cost": fixed} for _, fixed in stores]
        yield Case(
            {"m": m, "n": n, "warehouses": warehouses, "customers": [{"costs": costs} for _, costs in customers]}
        )

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 10 warehouses and 25 customers; see `write_cap`."""
        return write_cap(rng)

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total cost."""
        m, n = case.arguments["m"], case.arguments["n"]
        is_open = open_warehouses(answer, m)
        table = array(part(answer, "assignments"), shape=(n, m), what="assignments")
        total = sum(w["fixed_cost"] for w, o in zip(case.arguments["warehouses"], is_open, strict=True) if o)
        for i, (row, customer) in enumerate(zip(table, case.arguments["customers"], strict=True), start=1):
            served = np.flatnonzero(row)
            if len(served) != 1 or row[served[0]] != 1:
                raise invalid(f"Customer {i} must have a single 1 among 0s in `assignments`.")
            if not is_open[served[0]]:
                raise invalid(f"Customer {i} is assigned to warehouse {served[0] + 1}, which is closed.")
            total += customer["costs"][served[0]]
        return float(total)

    def simple_bound(self, case: Case) -> float:
        """Return the least fixed cost and, for each customer, the least cost of serving."""
        return least_costs(case, [min(c["costs"]) for c in case.arguments["customers"]])


class CapacitatedWarehouses(Problem):
    """Demand may be split among open warehouses."""

    name = "optimization/co_bench/capacitated_warehouse_location_co_bench"
    folder = "Capacitated warehouse location"
    program = '''
def solve(m: int, n: int, warehouses: list, customers: list) -> dict:
    """Open all warehouses and serve each customer from the cheapest that have room."""
    room = [w["capacity"] for w in warehouses]
    amounts = [[0.0] * m for _ in range(n)]
    for i, customer in enumerate(customers):
        need = customer["demand"]
        for j in sorted(range(m), key=lambda w: customer["costs"][w]):
            amounts[i][j] = min(need, room[j])
            need -= amounts[i][j]
            room[j] -= amounts[i][j]
    total = sum(w["fixed_cost"] for w in warehouses) + sum(
        customers[i]["costs"][j] * amounts[i][j] for i in range(n) for j in range(m)
    )
    return {"total_cost": total, "warehouse_open": [1] * m, "assignments": amounts}
'''
    objective = """
Capacitated warehouse location: open warehouses and ship to customers at the least total cost; a demand may be split. Write `solve(m, n, \
warehouses, customers)`.
- `m`, `n` (int): possible warehouses and customers.
- `warehouses` (list of m dicts): `"capacity"` and `"fixed_cost"` (floats).
- `customers` (list of n dicts): `"demand"` (float) and `"costs"` (list of m floats), the cost of each unit from each warehouse.
Return `{"total_cost": number, "warehouse_open": [...], "assignments": [[...], ...]}`: m numbers 0 or 1, and n lists of m amounts >= 0. \
Each customer gets its demand (within one part in a million), no warehouse ships more than its capacity, and a closed one ships nothing. \
The cost is computed by the evaluator.
Score: minus (fixed costs of the open warehouses + amounts times unit costs), averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `cap` files, whose costs are of a whole demand; they are handed on for each unit."""
        m, n, stores, customers = read_cap(text)
        warehouses = [{"capacity": capacity, "fixed_cost": fixed} for capacity, fixed in stores]
        served = [
            {"demand": demand, "costs": [c / demand if demand else 0.0 for c in costs]} for demand, costs in customers
        ]
        yield Case({"m": m, "n": n, "warehouses": warehouses, "customers": served})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 10 warehouses and 25 customers; see `write_cap`."""
        return write_cap(rng)

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total cost."""
        m, n, warehouses, customers = (case.arguments[k] for k in ("m", "n", "warehouses", "customers"))
        is_open = open_warehouses(answer, m)
        amounts = array(part(answer, "assignments"), shape=(n, m), what="assignments")
        if amounts.min() < 0:
            raise invalid(f"An amount is negative: {amounts.min():g}.")
        for j, (shipped, warehouse) in enumerate(zip(amounts.sum(axis=0), warehouses, strict=True), start=1):
            limit = warehouse["capacity"] if is_open[j - 1] else 0.0
            if shipped > limit * (1 + TOLERANCE):
                raise invalid(
                    f"Warehouse {j} ships {shipped:g} of {limit:g}{'' if is_open[j - 1] else ': it is closed'}."
                )
        for i, (got, customer) in enumerate(zip(amounts.sum(axis=1), customers, strict=True), start=1):
            if abs(got - customer["demand"]) > TOLERANCE * max(1.0, customer["demand"]):
                raise invalid(f"Customer {i} gets {got:g} of a demand of {customer['demand']:g}.")
        fixed = sum(w["fixed_cost"] for w, o in zip(warehouses, is_open, strict=True) if o)
        return float(fixed + (amounts * np.array([c["costs"] for c in customers])).sum())

    def simple_bound(self, case: Case) -> float:
        """Return the least fixed cost and, for each customer, the least cost of its demand (less the tolerance on amounts)."""
        served = [min(c["costs"]) * c["demand"] for c in case.arguments["customers"]]
        return least_costs(case, served) * (1 - 2 * TOLERANCE)


class Medians(Problem):
    """p-median on a graph."""

    name = "optimization/co_bench/p_median_uncapacitated_co_bench"
    folder = "p-median - uncapacitated"
    program = '''
def solve(n: int, m: int, p: int, dist: list) -> dict:
    """Take the p vertices that are nearest to all others."""
    order = sorted(range(n), key=lambda v: sum(dist[v]))
    return {"medians": [v + 1 for v in order[:p]]}
'''
    objective = """
p-median: choose p vertices of a graph so that the distances of all vertices to the nearest chosen one sum up to little. Write `solve(n, \
m, p, dist)`.
- `n`, `m`, `p` (int): vertices, edges, medians to choose.
- `dist` (list of n lists of n numbers): the lengths of shortest paths.
Return `{"medians": [...]}`, p different vertices from 1 to n.
Score: minus the sum of distances, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `pmed` files: n, m, p, and for each edge two vertices and a length; a later length replaces an earlier one."""
        tokens = Tokens(text)
        n, m, p = tokens.whole(), tokens.whole(), tokens.whole()
        dist = np.full((n, n), np.inf)
        np.fill_diagonal(dist, 0.0)
        for _ in range(m):
            a, b, length = tokens.whole() - 1, tokens.whole() - 1, tokens.number()
            dist[a, b] = dist[b, a] = length
        for k in range(n):
            np.minimum(dist, dist[:, k, None] + dist[None, k, :], out=dist)
        if not np.all(np.isfinite(dist)):
            raise ValueError("the graph is not connected")
        yield Case({"n": n, "m": m, "p": p, "dist": dist.tolist()})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 40 vertices and p = 5: a random tree and 60 more edges, lengths from 1 to 100 (Beasley, 1985)."""
        edges = [(v, int(rng.integers(1, v))) for v in range(2, 41)]
        edges += [(int(a), int(b)) for a, b in (rng.permutation(40)[:2] + 1 for _ in range(60))]
        lines = "\n".join(f"{a} {b} {rng.integers(1, 101)}" for a, b in edges)
        return f"40 {len(edges)} 5\n{lines}\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the sum of distances."""
        n, p = case.arguments["n"], case.arguments["p"]
        medians = distinct(part(answer, "medians"), allowed=range(1, n + 1), what="medians")
        if len(medians) != p:
            raise invalid(f"`medians` must hold {p} vertices; it holds {len(medians)}.")
        return float(sum(min(row[v - 1] for v in medians) for row in case.arguments["dist"]))

    def simple_bound(self, case: Case) -> float:
        """Return the n - p least distances from a vertex to another."""
        nearest = sorted(sorted(row)[1] for row in case.arguments["dist"])
        return float(sum(nearest[: case.arguments["n"] - case.arguments["p"]]))


class CapacitatedMedians(Problem):
    """p-median in the plane with capacities; scored as a share of the best known cost."""

    name = "optimization/co_bench/p_median_capacitated_co_bench"
    folder = "p-median - capacitated"
    program = '''
def solve(best_known: float, n: int, p: int, Q: float, customers: list) -> dict:
    """Take p customers spread over the list; give the greatest demands first to the nearest median with room."""
    medians = [customers[i * n // p][0] for i in range(p)]
    place = {c[0]: (c[1], c[2]) for c in customers}
    room, assigned, total = dict.fromkeys(medians, Q), {}, 0
    for number, x, y, demand in sorted(customers, key=lambda c: -c[3]):
        fitting = [m for m in medians if room[m] >= demand] or medians
        nearest = min(fitting, key=lambda m: math.dist((x, y), place[m]))
        room[nearest] -= demand
        assigned[number] = nearest
        total += math.floor(math.dist((x, y), place[nearest]))
    return {"objective": total, "medians": medians, "assignments": [assigned[c[0]] for c in customers]}
'''
    objective = """
Capacitated p-median: choose p of n customers as medians and assign every customer to one of them at the least total distance. Write \
`solve(best_known, n, p, Q, customers)`.
- `best_known` (float): the least known cost, or a lower bound on it. `n`, `p` (int). `Q` (float): the demand a median can serve.
- `customers` (list of n tuples (id, x, y, demand)).
Return `{"objective": number, "medians": [...], "assignments": [...]}`: p different ids, and for each customer in the order of the list \
the id of its median. The demands of a median's customers must not exceed Q. Each pays the Euclidean distance rounded down; the cost is \
computed by the evaluator.
Score: best_known / total cost, averaged over cases; 1 equals the best known.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `pmedcap` files: the number of cases; for each its number, best cost, n, p, Q, and id, x, y, demand."""
        tokens = Tokens(text)
        for _ in range(tokens.whole()):
            _, best = tokens.whole(), tokens.number()
            n, p, capacity = tokens.whole(), tokens.whole(), tokens.number()
            customers = [(tokens.whole(), *tokens.numbers(3)) for _ in range(n)]
            yield Case({"best_known": best, "n": n, "p": p, "Q": capacity, "customers": customers}, 1.0)

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 30 customers and 4 medians on a square of 100, demands from 1 to 20 (Osman and Christofides, 1994).

        Capacities leave a fifth to spare. In place of the best cost stands a lower bound: the relaxation's, rounded up.
        """
        demand = rng.integers(1, 21, 30)
        table = np.column_stack([np.arange(1, 31), rng.integers(0, 101, (30, 2)), demand])
        capacity = math.ceil(demand.sum() / 4 * 1.2)
        bound = median_bound(table[:, 1:3].astype(float), demand, p=4, capacity=capacity)
        return f"1\n1 {bound}\n30 4 {capacity}\n{rows(table)}"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the best known cost over the cost."""
        n, p, capacity, customers = (case.arguments[k] for k in ("n", "p", "Q", "customers"))
        place = {number: (x, y) for number, x, y, _ in customers}
        medians = integers(part(answer, "medians"), length=p, what="medians")
        if len(set(medians)) != p or not set(medians) <= set(place):
            raise invalid(f"`medians` must be {p} different ids of customers; it is {medians[:20]}.")
        load, cost = dict.fromkeys(medians, 0.0), 0
        assigned = integers(part(answer, "assignments"), length=n, what="assignments")
        for (number, x, y, demand), median in zip(customers, assigned, strict=True):
            if median not in load:
                raise invalid(f"Customer {number} is assigned to {median}, which is no median.")
            load[median] += demand
            cost += math.floor(math.dist((x, y), place[median]))
        for median, used in load.items():
            if used > capacity * (1 + TOLERANCE):
                raise invalid(f"Median {median} serves {used:g}, more than Q = {capacity:g}.")
        return float(case.arguments["best_known"] / max(cost, 1))

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw every customer's way to its median."""
        place = {number: (x, y) for number, x, y, _ in case.arguments["customers"]}
        color = {median: i for i, median in enumerate(answer["medians"])}
        drawing = Drawing(note=f"{len(place)} customers, {len(color)} medians")
        for number, median in zip(place, answer["assignments"], strict=True):
            drawing.line([place[number], place[median]], color[median])
        drawing.dots([*place.values()], OUTLINE)
        return drawing

    def simple_bound(self, case: Case) -> float:
        """Return 1, the best known."""
        return 1.0


def median_bound(places: np.ndarray, demand: np.ndarray, *, p: int, capacity: float) -> int:
    """Return the least cost of capacitated p-medians that may be opened and served in fractions, rounded up.

    `places` has shape (n, 2) and `demand` (n,); distances are Euclidean and rounded down.
    """
    from scipy.optimize import linprog  # type: ignore[import-untyped]  # noqa: PLC0415 - slow to import
    from scipy.sparse import coo_array, eye_array, hstack, kron, vstack  # type: ignore[import-untyped]  # noqa: PLC0415

    n = len(places)
    cost = np.floor(np.linalg.norm(places[:, None] - places[None], axis=2))  # of customer i at median j
    one, served = np.ones((1, n)), eye_array(n)
    each = hstack([kron(served, one), coo_array((n, n))])
    count = hstack([coo_array((1, n * n)), one])
    room = hstack([kron(demand[None, :], served), -capacity * served])
    only_open = hstack([eye_array(n * n), -kron(np.ones((n, 1)), served)])
    found = linprog(
        np.concatenate([cost.ravel(), np.zeros(n)]),
        A_ub=vstack([room, only_open]).tocsr(),
        b_ub=np.zeros(n + n * n),
        A_eq=vstack([each, count]).tocsr(),
        b_eq=np.concatenate([np.ones(n), [p]]),
        bounds=(0, 1),
        method="highs",
    )
    return math.ceil(float(found.fun) - TOLERANCE)


def read_cap(text: str) -> tuple[int, int, list[tuple[float, float]], list[tuple[float, list[float]]]]:
    """Read a `cap` file: m, n; capacity and fixed cost of each warehouse; demand of each customer and its m costs."""
    tokens = Tokens(text)
    m, n = tokens.whole(), tokens.whole()
    stores = []
    for _ in range(m):
        capacity = tokens.word()
        stores.append((finite(capacity) if capacity != "capacity" else DEFAULT_CAPACITY, tokens.number()))
    return m, n, stores, [(tokens.number(), tokens.numbers(m)) for _ in range(n)]


def write_cap(rng: np.random.Generator) -> str:
    """Return a `cap` file: places uniform in a square, unit costs are distances, demands 5 to 35 and capacities ample by a factor of 3."""
    places, homes, demand = rng.uniform(0, 100, (10, 2)), rng.uniform(0, 100, (25, 2)), rng.integers(5, 36, 25)
    capacity = math.ceil(demand.sum() * 3 / 10)
    stores = "\n".join(f"{capacity} {rng.integers(2000, 6000)}." for _ in range(10))
    costs = np.linalg.norm(homes[:, None] - places[None], axis=2) * demand[:, None]
    served = "\n".join(f"{d}\n{' '.join(f'{c:.5f}' for c in row)}" for d, row in zip(demand, costs, strict=True))
    return f"10 25\n{stores}\n{served}\n"


def open_warehouses(answer: Mapping[str, Any], count: int) -> list[int]:
    """Return the decisions `warehouse_open` of an answer."""
    decisions = integers(part(answer, "warehouse_open"), length=count, what="warehouse_open")
    if not set(decisions) <= {0, 1}:
        raise invalid("`warehouse_open` must hold 0 and 1 only.")
    return decisions


def least_costs(case: Case, served: list[float]) -> float:
    """Return the least fixed cost and the costs of serving."""
    return float(min(w["fixed_cost"] for w in case.arguments["warehouses"]) + sum(served))


build_uncapacitated_warehouses = UncapacitatedWarehouses.build
build_capacitated_warehouses = CapacitatedWarehouses.build
build_medians = Medians.build
build_capacitated_medians = CapacitatedMedians.build
