"""Models of CO-Bench's tasks that assign, pack, colour, route and locate, for OR-tools and HiGHS: each finds an answer and its bound.

Those of the tasks that schedule are in `cobench_certificates.py`, which proves with all of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from ortools.sat.python import cp_model
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from tracebench_llm4ad.cobench import packing

FINE = 10**6
"""Steps of one unit in which costs that are no whole numbers are told to the solver."""
Found = tuple[Any, float]
"""An answer, and the bound in the solver's own direction: no answer is better."""


class Model(cp_model.CpModel):
    """A model with a solver of its own."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.solver = cp_model.CpSolver()
        self.solver.parameters.max_time_in_seconds = seconds
        self.solver.parameters.num_workers = 2

    def solved(self) -> float:
        """Solve, and return the proven bound."""
        status = self.solver.solve(self)
        if status not in {cp_model.OPTIMAL, cp_model.FEASIBLE}:
            raise TimeoutError("no answer was found")
        return self.solver.best_objective_bound

    def on(self, literal: Any) -> bool:
        """Tell whether a literal is true in the answer."""
        return bool(self.solver.value(literal))

    def bits(self, count: int) -> list[Any]:
        """Return so many decisions."""
        return [self.new_bool_var("") for _ in range(count)]


def whole(value: float) -> int:
    """Return a cost in fine steps."""
    return round(value * FINE)


def one_each(m: Model, table: list[list[Any]]) -> None:
    """Let each row hold one true decision."""
    for row in table:
        m.add_exactly_one(row)


def assign(a: Mapping[str, Any], m: Model) -> Found:
    n, costs = a["n"], a["cost_matrix"]
    x = [m.bits(n) for _ in range(n)]
    one_each(m, x)
    one_each(m, [list(column) for column in zip(*x, strict=True)])
    m.minimize(sum(int(costs[i][j]) * x[i][j] for i in range(n) for j in range(n)))
    bound = m.solved()
    return {"assignment": [(i + 1, j + 1) for i in range(n) for j in range(n) if m.on(x[i][j])]}, bound


def generalised(a: Mapping[str, Any], m: Model) -> Found:
    agents, n = a["m"], a["n"]
    x = [m.bits(agents) for _ in range(n)]
    one_each(m, x)
    for i in range(agents):
        m.add(sum(int(a["consumption_matrix"][i][j]) * x[j][i] for j in range(n)) <= int(a["capacities"][i]))
    value = sum(int(a["cost_matrix"][i][j]) * x[j][i] for j in range(n) for i in range(agents))
    m.maximize(value if a["problem_type"] == "max" else -value)
    bound = m.solved()
    return {"assignments": [next(i + 1 for i in range(agents) if m.on(x[j][i])) for j in range(n)]}, bound


def bins(a: Mapping[str, Any], _m: Model) -> Found:
    items, capacity = a["items"], a["bin_capacity"]
    rooms: list[int] = []
    packed: list[list[int]] = []
    for i in sorted(range(len(items)), key=lambda i: -items[i]):  # best fit decreasing
        fit = [b for b, room in enumerate(rooms) if room >= items[i]]
        at = min(fit, key=lambda b: rooms[b]) if fit else len(rooms)
        rooms[at : at + 1] = [(rooms[at] if fit else capacity) - items[i]]
        packed[at : at + 1] = [[*(packed[at] if fit else ()), i + 1]]
    if len(rooms) == packing.martello_toth(items, capacity):
        return {"bins": packed}, len(rooms)
    return by_arcs(items, capacity)


def by_arcs(items: list[int], capacity: int) -> Found:
    """Pack by flows over what a bin holds, the largest items first (Valério de Carvalho, 1999)."""
    sizes = sorted(set(items), reverse=True)
    arcs, at, reached = [], {0}, {0}
    for size in sizes:
        for _ in range(items.count(size)):
            steps = {(load, size) for load in at if load + size <= capacity}
            arcs += [step for step in steps if step not in arcs]
            at |= {load + size for load, _ in steps}
    reached = sorted(at | {capacity})
    arcs += [(load, 0) for load in reached if 0 < load < capacity]  # what is left empty
    keep, held = np.zeros((len(reached) - 2, len(arcs))), np.zeros((len(sizes), len(arcs)))
    for k, (load, size) in enumerate(arcs):
        end = load + size if size else capacity
        if load:
            keep[reached.index(load) - 1, k] -= 1
        if end != capacity:
            keep[reached.index(end) - 1, k] += 1
        if size:
            held[sizes.index(size), k] = 1
    wanted = np.array([items.count(size) for size in sizes])
    cost = np.array([float(load == 0) for load, _ in arcs])
    limits = [LinearConstraint(keep, 0, 0), LinearConstraint(held, wanted, wanted)]
    found = milp(cost, constraints=limits, integrality=np.ones(len(arcs)), options={"time_limit": 60})
    flows = {arc: round(x) for arc, x in zip(arcs, found.x, strict=True)}
    left = {size: [i + 1 for i, s in enumerate(items) if s == size] for size in sizes}
    packed = []
    while any(flow for (load, _), flow in flows.items() if load == 0):
        load, content = 0, []
        while load < capacity:
            size = next(s for (start, s), flow in flows.items() if start == load and flow)
            flows[load, size] -= 1
            content += [left[size].pop()] if size else []
            load = load + size if size else capacity
        packed.append(content)
    return {"bins": packed}, math.ceil(found.mip_dual_bound - 1e-6)


def knapsack(a: Mapping[str, Any], m: Model) -> Found:
    x = m.bits(a["n"])
    for row, limit in zip(a["r"], a["b"], strict=True):
        m.add(sum(int(u) * v for u, v in zip(row, x, strict=True)) <= int(limit))
    m.maximize(sum(int(p) * v for p, v in zip(a["p"], x, strict=True)))
    bound = m.solved()
    return {"x": [int(m.on(v)) for v in x]}, bound


def demands(a: Mapping[str, Any], m: Model) -> Found:
    x = m.bits(a["n"])
    for row, limit in zip(a["A_leq"], a["b_leq"], strict=True):
        m.add(sum(int(u) * v for u, v in zip(row, x, strict=True)) <= int(limit))
    for row, demand in zip(a["A_geq"], a["b_geq"], strict=True):
        m.add(sum(int(u) * v for u, v in zip(row, x, strict=True)) >= int(demand))
    m.maximize(sum(int(c) * v for c, v in zip(a["cost_vector"], x, strict=True)))
    bound = m.solved()
    return {"x": [int(m.on(v)) for v in x]}, bound


def cover(a: Mapping[str, Any], m: Model) -> Found:
    x = m.bits(a["n"])
    for columns in a["row_cover"]:
        m.add_bool_or([x[c - 1] for c in columns])
    m.minimize(sum(int(c) * v for c, v in zip(a["costs"], x, strict=True)))
    bound = m.solved()
    return {"selected_columns": [c + 1 for c, v in enumerate(x) if m.on(v)]}, bound


def partition(a: Mapping[str, Any], m: Model) -> Found:
    x = {c: m.new_bool_var("") for c in a["columns_info"]}
    for row in range(1, a["num_rows"] + 1):
        m.add_exactly_one([x[c] for c, (_, rows) in a["columns_info"].items() if row in rows])
    m.minimize(sum(int(cost) * x[c] for c, (cost, _) in a["columns_info"].items()))
    bound = m.solved()
    return {"selected_columns": [c for c in x if m.on(x[c])]}, bound


def colours(a: Mapping[str, Any], m: Model) -> Found:
    n, adjacency = a["n"], a["adjacency"]
    clique: list[int] = []
    for start in adjacency:
        found, common = [start], set(adjacency[start])
        while common:
            v = max(common, key=lambda u: (len(adjacency[u] & common), -u))
            found.append(v)
            common &= adjacency[v]
        clique = max(clique, found, key=len)
    most = max(map(len, adjacency.values())) + 1
    first: dict[int, int] = {}
    for v in sorted(adjacency, key=lambda u: -len(adjacency[u])):
        first[v] = next(c for c in range(most) if c not in {first.get(u) for u in adjacency[v]})
    most = max(first.values()) + 1
    x = {v: m.bits(most) for v in range(1, n + 1)}
    used = m.bits(most)
    one_each(m, list(x.values()))
    for u, v in a["edges"]:
        for c in range(most):
            m.add_bool_or([x[u][c].negated(), x[v][c].negated()])
    for c in range(most):
        m.add_max_equality(used[c], [x[v][c] for v in x])
        if c:
            m.add_implication(used[c], used[c - 1])
    for c, v in enumerate(clique):
        m.add(x[v][c] == 1)
    m.minimize(sum(used))
    bound = m.solved()
    return {v: next(c + 1 for c in range(most) if m.on(x[v][c])) for v in x}, bound


def vertices(a: Mapping[str, Any], m: Model) -> Found:
    x = {v: m.new_bool_var("") for v in a["graph"]}
    for v, near in a["graph"].items():
        for u in near:
            if v < u:
                m.add_bool_or([x[v].negated(), x[u].negated()])
    m.maximize(sum(x.values()))
    bound = m.solved()
    return {"mis_nodes": [v for v in x if m.on(x[v])]}, bound


def tour(a: Mapping[str, Any], _m: Model) -> Found:
    """Forbid the partial tours of each answer until there are none (Dantzig, Fulkerson and Johnson, 1954)."""
    nodes = a["nodes"]
    n = len(nodes)
    edges = [(i, j) for i in range(n) for j in range(i + 1, n)]
    cost = np.array([math.dist(nodes[i], nodes[j]) for i, j in edges])
    twice = np.zeros((n, len(edges)))
    for k, (i, j) in enumerate(edges):
        twice[i, k] = twice[j, k] = 1
    limits = [LinearConstraint(twice, 2, 2)]
    while True:
        found = milp(
            cost, constraints=limits, bounds=Bounds(0, 1), integrality=np.ones(len(edges)), options={"mip_rel_gap": 0}
        )
        near: dict[int, list[int]] = {}
        for k in np.flatnonzero(found.x > 0.5):
            near.setdefault(edges[k][0], []).append(edges[k][1])
            near.setdefault(edges[k][1], []).append(edges[k][0])
        parts = partial_tours(near)
        if len(parts) == 1:
            return {"tour": parts[0]}, found.mip_dual_bound
        for part in parts:
            inside = set(part)
            row = np.array([[float(i in inside and j in inside) for i, j in edges]])
            limits.append(LinearConstraint(row, ub=len(part) - 1))


def partial_tours(near: Mapping[int, list[int]]) -> list[list[int]]:
    """Return the closed tours of a graph in which every vertex has two neighbours."""
    left, found = set(near), []
    while left:
        part = [min(left)]
        while (after := next((v for v in near[part[-1]] if v in left - set(part)), None)) is not None:
            part.append(after)
        left -= set(part)
        found.append(part)
    return found


def path(a: Mapping[str, Any], m: Model) -> Found:
    n = a["n"]
    arcs = [(u, v, cost, use, m.new_bool_var("")) for u, row in a["graph"].items() for v, cost, use in row]
    loops = {v: m.new_bool_var("") for v in range(2, n)}
    back = m.new_constant(1)
    m.add_circuit([(u, v, x) for u, v, _, _, x in arcs] + [(v, v, x) for v, x in loops.items()] + [(n, 1, back)])
    for k in range(a["K"]):
        at = a["vertex_resources"]
        used = sum(int(use[k]) * x for _, _, _, use, x in arcs)
        used += sum(int(at[v - 1][k]) * (1 - x) for v, x in loops.items()) + int(at[0][k]) + int(at[n - 1][k])
        m.add(used <= math.floor(a["upper_bounds"][k]))
        m.add(used >= math.ceil(a["lower_bounds"][k]))
    m.minimize(sum(int(cost) * x for _, _, cost, _, x in arcs))
    bound = m.solved()
    after = {u: v for u, v, _, _, x in arcs if m.on(x)}
    way = [1]
    while way[-1] != n:
        way.append(after[way[-1]])
    return {"path": way}, bound


def warehouses(a: Mapping[str, Any], m: Model) -> Found:
    stores, served = a["warehouses"], a["customers"]
    is_open = m.bits(a["m"])
    x = [m.bits(a["m"]) for _ in served]
    one_each(m, x)
    for row in x:
        for j, v in enumerate(row):
            m.add_implication(v, is_open[j])
    fixed = sum(whole(w["fixed_cost"]) * o for w, o in zip(stores, is_open, strict=True))
    m.minimize(
        fixed + sum(whole(c["costs"][j]) * v for c, row in zip(served, x, strict=True) for j, v in enumerate(row))
    )
    bound = m.solved() / FINE
    table = [[int(m.on(v)) for v in row] for row in x]
    return {"warehouse_open": [int(m.on(v)) for v in is_open], "assignments": table}, bound


def capacitated(a: Mapping[str, Any], m: Model) -> Found:
    stores, served = a["warehouses"], a["customers"]
    k, n = a["m"], a["n"]
    demand = np.array([c["demand"] for c in served])
    unit = np.array([c["costs"] for c in served])
    cost = np.concatenate([[w["fixed_cost"] for w in stores], unit.ravel()])
    room, each = np.zeros((k, k + n * k)), np.zeros((n, k + n * k))
    for j, w in enumerate(stores):
        room[j, j] = -w["capacity"]
        room[j, k + j :: k] = 1
    for i in range(n):
        each[i, k + i * k : k + (i + 1) * k] = 1
    most = np.concatenate([np.ones(k), np.repeat(demand, k)])
    kinds = np.concatenate([np.ones(k), np.zeros(n * k)])
    found = milp(
        cost,
        constraints=[LinearConstraint(room, ub=0), LinearConstraint(each, demand, demand)],
        bounds=Bounds(0, most),
        integrality=kinds,
        options={"mip_rel_gap": 1e-9, "time_limit": m.solver.parameters.max_time_in_seconds},
    )
    chosen = np.round(found.x[:k])
    amounts = np.clip(found.x[k:].reshape(n, k), 0, None) * chosen
    return {"warehouse_open": chosen.astype(int).tolist(), "assignments": amounts.tolist()}, found.mip_dual_bound


def medians(a: Mapping[str, Any], _m: Model) -> Found:
    x, bound = served_by(np.array(a["dist"]), a["p"], np.zeros(a["n"]), 1.0)
    return {"medians": [j + 1 for j in sorted(set(x))]}, bound


def capacitated_medians(a: Mapping[str, Any], _m: Model) -> Found:
    customers = a["customers"]
    cost = np.array([[math.floor(math.dist(p[1:3], q[1:3])) for q in customers] for p in customers], dtype=float)
    x, bound = served_by(cost, a["p"], np.array([c[3] for c in customers], dtype=float), a["Q"])
    ids = [c[0] for c in customers]
    more = [j for j in range(len(ids)) if j not in x][: a["p"] - len(set(x))]  # medians that nobody needs
    return {"medians": [ids[j] for j in sorted({*x, *more})], "assignments": [ids[j] for j in x]}, a[
        "best_known"
    ] / bound


def served_by(cost: np.ndarray, p: int, demand: np.ndarray, capacity: float) -> tuple[list[int], float]:
    """Return the median that serves each customer at the least cost, of shape (n, n), and the bound on that, a whole number."""
    n = len(cost)
    opened, served = np.zeros((n * n, n * n + n)), np.zeros((n, n * n + n))
    room, count = np.zeros((n, n * n + n)), np.zeros((1, n * n + n))
    for i in range(n):
        served[i, i * n : (i + 1) * n] = 1
        for j in range(n):
            opened[i * n + j, [i * n + j, n * n + j]] = 1, -1
            room[j, i * n + j] = demand[i]
        room[i, n * n + i] = -capacity
    count[0, n * n :] = 1
    found = milp(
        np.concatenate([cost.ravel(), np.zeros(n)]),
        constraints=[
            LinearConstraint(csr_array(opened), ub=0),
            LinearConstraint(served, 1, 1),
            LinearConstraint(room, ub=0),
            LinearConstraint(count, p, p),
        ],
        bounds=Bounds(0, 1),
        integrality=np.ones(n * n + n),
        options={"mip_rel_gap": 0, "time_limit": 120},
    )
    chosen = found.x[: n * n].reshape(n, n).argmax(axis=1)
    return chosen.tolist(), math.ceil(found.mip_dual_bound - 1e-6)
