"""Exact programmes for CO-Bench's tasks that order, cut, share and structure: each finds an optimal answer, and its value is the bound.

They go through sets of jobs, pieces or countries, so they fit the sizes that are generated, and no larger ones.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from cobench_models import Found, Model, one_each
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csc_array

from tracebench_llm4ad.cobench.structuring import GROUPS

NEVER = 10**6
PER_CHILD = 3
"""The tax code by which each child's income is taxed by itself."""
Parts = tuple[tuple[int, int], ...]


def due_date(a: Mapping[str, Any], _m: Model) -> Found:
    """Order by sets of jobs that come first (Held and Karp, 1962): what the last of them costs stands on their total time alone."""
    jobs = a["jobs"]
    n, due = len(jobs), math.floor(sum(p for p, _, _ in jobs) * a["h"])
    sets = np.arange(1 << n)
    ends = sum(((sets >> j) & 1) * jobs[j][0] for j in range(n))
    cost = np.full(1 << n, NEVER)
    cost[0] = 0
    sizes = sum((sets >> j) & 1 for j in range(n))
    for size in range(1, n + 1):
        level = sets[sizes == size]
        for j, (_, early, late) in enumerate(jobs):
            held = level[(level >> j) & 1 == 1]
            off = due - ends[held]
            cost[held] = np.minimum(cost[held], cost[held ^ (1 << j)] + np.maximum(early * off, -late * off))
    order, left = [], (1 << n) - 1
    while left:
        off = due - int(ends[left])
        last = next(
            j
            for j, (_, early, late) in enumerate(jobs)
            if left >> j & 1 and cost[left] == cost[left ^ (1 << j)] + max(early * off, -late * off)
        )
        order.append(last + 1)
        left ^= 1 << last
    return {"schedule": order[::-1]}, float(cost[-1])


def flow(a: Mapping[str, Any], _m: Model) -> Found:
    """Keep, for each set of jobs that come first, the ends of the machines that no other order has all earlier."""
    table = np.array(a["matrix"])
    n, machines = table.shape
    after = np.array([[row[k + 1 :].sum() for k in range(machines)] for row in table])
    best = searched(table)
    fronts: dict[int, tuple[np.ndarray, list[tuple[int, ...]]]] = {0: (np.zeros((1, machines), int), [()])}
    for _ in range(n):
        grown: dict[int, list[tuple[np.ndarray, list[tuple[int, ...]]]]] = {}
        for held, (ends, orders) in fronts.items():
            for j in (j for j in range(n) if not held >> j & 1):
                moved = np.empty_like(ends)
                moved[:, 0] = ends[:, 0] + table[j, 0]
                for k in range(1, machines):
                    moved[:, k] = np.maximum(moved[:, k - 1], ends[:, k]) + table[j, k]
                left = [i for i in range(n) if not held >> i & 1 and i != j]
                least = moved + table[left].sum(axis=0) + (after[left].min(axis=0) if left else 0)
                keep = least.max(axis=1) < makespan(table, best)
                if keep.any():
                    told = [(*order, j) for order, kept in zip(orders, keep, strict=True) if kept]
                    grown.setdefault(held | 1 << j, []).append((moved[keep], told))
        fronts = {held: unbeaten(parts) for held, parts in grown.items()}
    for ends, orders in fronts.values():
        best = list(orders[int(ends[:, -1].argmin())])
    return {"job_sequence": [j + 1 for j in best]}, float(makespan(table, best))


def makespan(table: np.ndarray, order: Sequence[int]) -> int:
    """Return when the last job leaves the last machine."""
    free = [0] * table.shape[1]
    for j in order:
        end = 0
        for k, time in enumerate(table[j].tolist()):
            end = free[k] = max(end, free[k]) + time
    return free[-1]


def searched(table: np.ndarray) -> list[int]:
    """Return a good order: jobs taken out and put where they end soonest, again and again."""
    draw = random.Random(1)
    best: list[int] = []
    for j in np.argsort(-table.sum(axis=1)).tolist():
        best = placed(table, best, j)
    for _ in range(200):
        out = draw.sample(best, 3)
        order = [j for j in best if j not in out]
        for j in out:
            order = placed(table, order, j)
        best = min(best, order, key=lambda o: makespan(table, o))
    return best


def placed(table: np.ndarray, order: list[int], j: int) -> list[int]:
    """Return the order with a job more, where it makes all end soonest."""
    return min(([*order[:k], j, *order[k:]] for k in range(len(order) + 1)), key=lambda o: makespan(table, o))


def unbeaten(parts: list[tuple[np.ndarray, list[tuple[int, ...]]]]) -> tuple[np.ndarray, list[tuple[int, ...]]]:
    """Return the rows that no other row is nowhere above, and their orders."""
    ends, first = np.unique(np.concatenate([part for part, _ in parts]), axis=0, return_index=True)
    orders = [order for _, told in parts for order in told]
    kept: list[int] = []
    for row in range(len(ends)):  # sorted, so a row is beaten by one before it alone
        if not kept or not (ends[kept] <= ends[row]).all(axis=1).any():
            kept.append(row)
    return ends[kept], [orders[first[row]] for row in kept]


def crews(a: Mapping[str, Any], m: Model) -> Found:
    """Choose among all duties that the rules allow."""
    tasks, arcs = a["tasks"], a["arcs"]
    following = {i: [j for j in tasks if (i, j) in arcs and tasks[i][1] <= tasks[j][0]] for i in tasks}

    def duties(way: tuple[int, ...], cost: float) -> Iterator[tuple[tuple[int, ...], float]]:
        yield way, cost
        for j in following[way[-1]]:
            if tasks[j][1] - tasks[way[0]][0] <= a["time_limit"]:
                yield from duties((*way, j), cost + arcs[way[-1], j])

    every = [duty for i in tasks for duty in duties((i,), 0.0)]
    numbers = {t: k for k, t in enumerate(tasks)}
    at = [(numbers[t], k) for k, (way, _) in enumerate(every) for t in way]
    done = csc_array((np.ones(len(at)), tuple(zip(*at, strict=True))), shape=(len(tasks), len(every)))
    found = milp(
        np.array([cost for _, cost in every]),
        constraints=[LinearConstraint(done, 1, 1), LinearConstraint(np.ones((1, len(every))), ub=a["K"])],
        bounds=Bounds(0, 1),
        integrality=np.ones(len(every)),
        options={"mip_rel_gap": 0, "time_limit": m.solver.parameters.max_time_in_seconds},
    )
    if found.x is None:
        raise TimeoutError("no answer was found")
    return {"crews": [list(every[k][0]) for k in np.flatnonzero(found.x > 0.5)]}, float(found.mip_dual_bound)


class Tree:
    """What each country can send up at most from each set of countries below it: more from a child is never less for its parent."""

    def __init__(self, a: Mapping[str, Any]) -> None:
        self.countries, self.rates, self.n = a["countries"], a["withholding"], a["N"]
        gains = [self.countries[i + 1][3] for i in range(self.n)]
        self.profits = [sum(g for i, g in enumerate(gains) if held >> i & 1) for held in range(1 << self.n)]
        self.sent: dict[tuple[int, int], float] = {}
        self.below: dict[tuple[int, int], tuple[float, Parts]] = {}

    def sends(self, here: int, held: int) -> float:
        """Return what a country sends up at most that has a set of countries in its part of the tree, itself among them."""
        if (here, held) not in self.sent:
            code, rate, domestic, profit = self.countries[here + 1]
            rest = held ^ (1 << here)
            total = self.income(here, rest)[0]
            kept = {2: (1 - rate) * total, 4: min(total, (1 - rate) * self.profits[rest])}.get(code, total)
            self.sent[here, held] = profit * (1 - domestic) + kept
        return self.sent[here, held]

    def income(self, parent: int, held: int) -> tuple[float, Parts]:
        """Return the most that a set of countries brings the parent, and its division into a child and its part each."""
        if not held:
            return 0.0, ()
        if (parent, held) not in self.below:
            low = held & -held
            rest = part = held ^ low
            found = self._divided(parent, held, held)
            while part:
                part = (part - 1) & rest
                found = max(found, self._divided(parent, held, part | low))
            self.below[parent, held] = found
        return self.below[parent, held]

    def _divided(self, parent: int, held: int, part: int) -> tuple[float, Parts]:
        """Return the most where one child has this part."""
        code, rate, _, _ = self.countries[parent + 1]
        most, child = max(
            (self.sends(c, part) * (1 - self.rates[c + 1][parent + 1]), c) for c in range(self.n) if part >> c & 1
        )
        if code == PER_CHILD:
            most = min(most, (1 - rate) * self.profits[part])
        more, parts = self.income(parent, held ^ part)
        return most + more, ((child, part), *parts)


def structure(a: Mapping[str, Any], _m: Model) -> Found:
    """Take the best of all sets of countries that hold the target and those with a profit."""
    tree, root = Tree(a), a["target"] - 1
    needed = (1 << root) | sum(1 << i for i in range(tree.n) if a["countries"][i + 1][3] > 0)
    best = max(
        (held for held in range(1 << tree.n) if held & needed == needed), key=lambda held: tree.sends(root, held)
    )
    parents, pending = {a["target"]: 0}, [(root, best)]
    while pending:
        here, held = pending.pop()
        for child, part in tree.income(here, held ^ (1 << here))[1]:
            parents[child + 1] = here + 1
            pending.append((child, part))
    return {"structure": parents}, tree.sends(root, best)


def equal_shares(a: Mapping[str, Any], m: Model) -> Found:
    """Let every count of a group be one of the two nearest to the mean: no imbalance is less."""
    table = a["data"]
    x = [m.bits(GROUPS) for _ in table]
    one_each(m, x)
    bound = 0.0
    for k in range(len(table[0])):
        total = sum(row[k] for row in table)
        low, rest = divmod(total, GROUPS)
        bound += 2 * rest * (GROUPS - rest) / GROUPS
        for g in range(GROUPS):
            m.add_linear_constraint(
                sum(row[g] for row, has in zip(x, table, strict=True) if has[k]), low, low + (rest > 0)
            )
    for g in range(GROUPS):
        m.add_bool_or([row[g] for row in x])
    m.solved()
    return {"assignment": [next(g + 1 for g in range(GROUPS) if m.on(row[g])) for row in x]}, bound


def reentrant(a: Mapping[str, Any], m: Model) -> Found:
    """One server, jobs that are ready late, and for each the work that its machine has left once it is set up."""
    n, machines = a["n_jobs"], a["n_machines"]
    setups, work = a["setup_times"], a["processing_times"]
    latest = a["init_time"] * n + sum(setups) + sum(work)
    end, starts, spells = m.new_int_var(0, latest, ""), [], []
    for j in range(n):
        start = m.new_int_var(a["init_time"] * (j // machines + 1), latest, "")
        m.add(end >= start + setups[j] + sum(work[j::machines]))
        starts.append(start)
        spells.append(m.new_fixed_size_interval_var(start, setups[j], ""))
    m.add_no_overlap(spells)
    m.minimize(end)
    bound = m.solved()
    return {"permutation": [j + 1 for j in sorted(range(n), key=lambda j: m.solver.value(starts[j]))]}, bound


class Cuts:
    """Guillotine cuts of pieces (length, width, value, most): for every choice of pieces the least width that holds it within each length.

    It is that of the best of its two parts, side by side or one on the other.
    """

    def __init__(self, length: int, width: int, pieces: Sequence[tuple[int, int, int, int]]) -> None:
        self.length, self.pieces = length, pieces
        self.choices = list(itertools.product(*(range(most + 1) for *_, most in pieces)))
        self.steps = np.cumprod([1, *(most + 1 for *_, most in reversed(pieces))])[:-1][::-1]
        areas = np.array(self.choices) @ np.array([p[0] * p[1] for p in pieces])
        self.held = np.full((len(self.choices), length + 1), width + 1, dtype=np.int16)
        self.held[0] = 0
        for at in range(1, len(self.choices)):
            if areas[at] <= length * width:
                self._hold(at, width)
        values = np.array(self.choices) @ np.array([p[2] for p in pieces])
        self.best = int(np.where(self.held[:, length] <= width, values, -1).argmax())
        self.value = float(values[self.best])

    def _hold(self, at: int, width: int) -> None:
        if sum(self.choices[at]) == 1:
            one = self.pieces[self.choices[at].index(1)]
            self.held[at, one[0] :] = min(one[1], width + 1)
            return
        a, b = (self.held[part] for part in self._halves(at))
        able = (a[:, -1] <= width) & (b[:, -1] <= width)
        a, b = a[able], b[able]
        if not len(a):
            return
        least = (a + b).min(axis=0)
        for x in range(1, self.length):
            least[x:] = np.minimum(least[x:], np.maximum(a[:, x, None], b[:, : self.length + 1 - x]).min(axis=0))
        self.held[at] = np.minimum(least, width + 1)

    def _halves(self, at: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the places of all parts of a choice but the empty one and the whole, and of what is left by each."""
        parts = np.zeros(1, int)
        for count, step in zip(self.choices[at], self.steps, strict=True):
            parts = (parts[:, None] + np.arange(count + 1) * step).ravel()
        parts = parts[(parts > 0) & (parts < at)]
        return parts, at - parts

    def laid(self, at: int, length: int, x: int = 0, y: int = 0) -> Iterator[tuple[int, int, int]]:
        """Yield each piece of a choice, counted from 0, with its lower left corner, in the least width that holds them within a length."""
        if sum(self.choices[at]) <= 1:
            if at:
                yield self.choices[at].index(1), x, y
            return
        for one, other in zip(*(part.tolist() for part in self._halves(at)), strict=True):
            up = int(self.held[one, length])
            if up + self.held[other, length] == self.held[at, length]:
                yield from self.laid(one, length, x, y)
                yield from self.laid(other, length, x, y + up)
                return
            for k in range(1, length):
                if max(self.held[one, k], self.held[other, length - k]) == self.held[at, length]:
                    yield from self.laid(one, k, x, y)
                    yield from self.laid(other, length - k, x + k, y)
                    return


def cut_often(a: Mapping[str, Any], _m: Model) -> Found:
    pieces = [(p["length"], p["width"], p["value"], p["max"]) for p in a["piece_types"]]
    cuts = Cuts(a["stock_length"], a["stock_width"], pieces)
    laid = cuts.laid(cuts.best, cuts.length)
    return {"placements": [(k + 1, x, y, *pieces[k][:2], 0) for k, x, y in laid]}, cuts.value


def cut_once(a: Mapping[str, Any], _m: Model) -> Found:
    numbers = list(a["pieces"])
    pieces = [(p["l"], p["w"], p["value"], 1) for p in a["pieces"].values()]
    cuts = Cuts(a["stock_width"], a["stock_height"], pieces)
    laid = cuts.laid(cuts.best, cuts.length)
    return {"placements": [{"piece_id": numbers[k], "x": x, "y": y, "orientation": 0} for k, x, y in laid]}, cuts.value


def pack(a: Mapping[str, Any], m: Model) -> Found:
    """Place pieces freely: each copy lying, standing or not at all."""
    sides = (a["stock_length"], a["stock_width"])
    spans: tuple[list[Any], list[Any]] = ([], [])
    taken = []
    for kind, piece in enumerate(a["pieces"], start=1):
        before = None
        for copy in range(piece["max"]):
            shapes = {(piece["length"], piece["width"]), (piece["width"], piece["length"])}
            uses = []
            for shape in shapes:
                if shape[0] > sides[0] or shape[1] > sides[1]:
                    continue
                use = m.new_bool_var("")
                corner = [m.new_int_var(0, side - size, "") for side, size in zip(sides, shape, strict=True)]
                for k in range(2):
                    spans[k].append(m.new_optional_fixed_size_interval_var(corner[k], shape[k], use, ""))
                uses.append(use)
                turned = int(shape != (piece["length"], piece["width"]))
                taken.append((use, kind, corner, turned, piece, shape))
            m.add_at_most_one(uses)
            if copy < piece["min"]:
                m.add_bool_or(uses)
            if before is not None:  # the copies of a piece are alike
                m.add(sum(uses) <= sum(before))
            before = uses
    m.add_no_overlap_2d(*spans)
    m.add(sum(shape[0] * shape[1] * use for use, *_, shape in taken) <= sides[0] * sides[1])
    for k in range(2):
        m.add_cumulative(spans[k], [shape[1 - k] for *_, shape in taken], sides[1 - k])
    m.maximize(sum(piece["value"] * use for use, _, _, _, piece, _ in taken))
    bound = m.solved()
    return {
        "placements": [
            (kind, m.solver.value(corner[0]), m.solver.value(corner[1]), turned)
            for use, kind, corner, turned, *_ in taken
            if m.on(use)
        ]
    }, bound
