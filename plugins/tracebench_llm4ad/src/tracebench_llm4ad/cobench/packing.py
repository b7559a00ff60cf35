"""Items and capacities: bins, and knapsacks of many dimensions with and without demands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, part, rows
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.packing_bound import martello_toth
from tracebench_llm4ad.returned import integers, shown

SLACK = 1e-9
"""Relative tolerance of a capacity that is not a whole number."""


def zeros_and_ones(value: Any, *, count: int) -> list[int]:
    """Return the decisions `x` of an answer."""
    x = integers(value, length=count, what="x")
    for j, decision in enumerate(x):
        if decision not in {0, 1}:
            raise invalid(f"`x` must hold 0 and 1 only; x[{j}] is {decision}.")
    return x


def dot(row: Sequence[float], x: Sequence[int]) -> float:
    """Return the sum of the row's chosen numbers."""
    return sum(a for a, chosen in zip(row, x, strict=True) if chosen)


def require_at_most(table: Sequence[Sequence[float]], x: Sequence[int], limits: Sequence[float]) -> None:
    """Refuse decisions that use more than a limit."""
    for i, (row, limit) in enumerate(zip(table, limits, strict=True)):
        if (used := dot(row, x)) > limit + SLACK * max(1.0, abs(limit)):
            raise invalid(f"Constraint {i + 1} is broken: {used:g} is used of {limit:g}.")


class BinPacking(Problem):
    """One-dimensional bin packing."""

    name = "optimization/co_bench/bp_1d_co_bench"
    folder = "Bin packing - one-dimensional"
    program = '''
def solve(id: str, bin_capacity: int, num_items: int, items: list, **kwargs) -> dict:
    """Next fit: open a new bin when an item does not fit into the last one."""
    bins, room = [[]], bin_capacity
    for number, size in enumerate(items, start=1):
        if size > room:
            bins.append([])
            room = bin_capacity
        bins[-1].append(number)
        room -= size
    return {"num_bins": len(bins), "bins": bins}
'''
    objective = """
Bin packing: put all items into as few bins of equal capacity as possible. Write `solve(id, bin_capacity, num_items, items)`.
- `id` (str): the name of the case.
- `bin_capacity` (a number), `num_items` (int), `items` (list of num_items numbers: the sizes).
Return `{"num_bins": int, "bins": [[...], ...]}`: for each bin the numbers of its items, from 1 to num_items; every item is in one bin, \
and no bin's sizes exceed the capacity. `num_bins` is counted by the evaluator.
Score: minus the number of bins that hold an item, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `binpack` files: the number of cases; for each its name, then capacity, items, best number of bins, sizes."""
        tokens = Tokens(text)
        for _ in range(tokens.whole()):
            label, capacity, count, best = tokens.word(), tokens.number(), tokens.whole(), tokens.whole()
            sizes = [int(s) if s.is_integer() else s for s in tokens.numbers(count)]
            size = int(capacity) if capacity.is_integer() else capacity
            arguments = {"id": label, "bin_capacity": size, "num_items": count, "items": sizes}
            yield Case(arguments, float(best) if best > 0 else None)

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 60 items from 20 to 100 for a capacity of 150, as OR-Library's class u (Falkenauer, 1996).

        For the best number of bins stands the bound L2 of Martello and Toth.
        """
        drawn = [rng.integers(20, 101, 60).tolist() for _ in range(3)]
        cases = [
            f"u60_{k}\n150 60 {martello_toth(sizes, 150)}\n" + "\n".join(map(str, sizes))
            for k, sizes in enumerate(drawn)
        ]
        return "3\n" + "\n".join(cases)

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the number of bins in use."""
        items, capacity = case.arguments["items"], case.arguments["bin_capacity"]
        bins = part(answer, "bins")
        if not isinstance(bins, list | tuple):
            raise invalid(f"`bins` must be a list of lists of item numbers; it is {shown(bins)}.")
        seen: set[int] = set()
        for number, content in enumerate(bins, start=1):
            inside = integers(content, what="bins")
            for item in inside:
                if item in seen or not 1 <= item <= len(items):
                    raise invalid(
                        f"Bin {number} holds item {item}, which {'is packed twice' if item in seen else 'does not exist'}."
                    )
                seen.add(item)
            if (load := sum(items[i - 1] for i in inside)) > capacity * (1 + SLACK):
                raise invalid(f"Bin {number} holds {load:g}, more than the capacity {capacity:g}.")
        if len(seen) < len(items):
            raise invalid(
                f"{len(items) - len(seen)} items are not packed, among them {min(set(range(1, len(items) + 1)) - seen)}."
            )
        return float(sum(1 for content in bins if len(content)))

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the bins."""
        items = case.arguments["items"]
        bins = [[items[i - 1] for i in content] for content in answer["bins"] if len(content)]
        return kinds.stacks(bins, capacity=case.arguments["bin_capacity"])

    def simple_bound(self, case: Case) -> float:
        """Return bound L2 of Martello and Toth, or the total size over the capacity where sizes are fractions."""
        items, capacity = case.arguments["items"], case.arguments["bin_capacity"]
        if all(isinstance(number, int) for number in (*items, capacity)):
            return float(martello_toth(items, capacity))
        return float(np.ceil(sum(items) / capacity - SLACK))


class Knapsack(Problem):
    """Multidimensional 0-1 knapsack."""

    name = "optimization/co_bench/multidimensional_knapsack_problem_co_bench"
    folder = "Multidimensional knapsack problem"
    program = '''
def solve(n: int, m: int, p: list, r: list, b: list) -> dict:
    """Take the items in their order, each if it fits."""
    x, left = [0] * n, list(b)
    for j in range(n):
        if all(r[i][j] <= left[i] for i in range(m)):
            x[j] = 1
            left = [left[i] - r[i][j] for i in range(m)]
    return {"x": x}
'''
    objective = """
Multidimensional knapsack: choose items of the greatest total profit that respect all limits. Write `solve(n, m, p, r, b)`.
- `n`, `m` (int): items and resources. `p` (list of n floats): profits.
- `r` (list of m lists of n floats): `r[i][j]` is what item j uses of resource i. `b` (list of m floats): what there is of each.
Return `{"x": [...]}`, n numbers 0 or 1. For each resource i the sum of r[i][j] * x[j] must not exceed b[i].
Score: the total profit, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `mknap` files: the number of cases; for each n, m, the best profit (0: unknown), p, r row by row, b."""
        tokens = Tokens(text)
        for _ in range(tokens.whole()):
            n, m, best = tokens.whole(), tokens.whole(), tokens.number()
            arguments = {"n": n, "m": m, "p": tokens.numbers(n), "r": tokens.table(m, n), "b": tokens.numbers(m)}
            yield Case(arguments, best if best > 0 else None)

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 30 items and 5 resources: use from 1 to 1000, half of it there (Chu and Beasley, 1998)."""
        cases = []
        for _ in range(3):
            use = rng.integers(1, 1001, (5, 30))
            profit = use.mean(axis=0).astype(int) + rng.integers(0, 500, 30)
            cases.append(f"30 5 0\n{rows([profit])}\n{rows(use)}\n{rows([use.sum(axis=1) // 2])}")
        return "3\n" + "\n".join(cases) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total profit."""
        case_of = case.arguments
        x = zeros_and_ones(part(answer, "x"), count=case_of["n"])
        require_at_most(case_of["r"], x, case_of["b"])
        return float(dot(case_of["p"], x))

    def simple_bound(self, case: Case) -> float:
        """Return the least profit of a fractional knapsack with one of the limits."""
        profits = case.arguments["p"]
        return min(
            fractional(profits, row, limit) for row, limit in zip(case.arguments["r"], case.arguments["b"], strict=True)
        )


def fractional(profits: Sequence[float], use: Sequence[float], limit: float) -> float:
    """Return the greatest profit when items may be cut (Dantzig, 1957)."""
    total = sum(p for p, u in zip(profits, use, strict=True) if u == 0 and p > 0)
    for profit, u in sorted(
        ((p, u) for p, u in zip(profits, use, strict=True) if u > 0 and p > 0), key=lambda pu: -pu[0] / pu[1]
    ):
        taken = min(1.0, limit / u)
        total += profit * taken
        limit -= u * taken
        if limit <= 0:
            break
    return float(total)


class DemandKnapsack(Problem):
    """Multidimensional knapsack that must also meet demands."""

    name = "optimization/co_bench/multi_demand_multidimensional_knapsack_problem_co_bench"
    folder = "Multi-Demand Multidimensional Knapsack problem"
    shared = "A_leq"
    program = '''
def solve(
    n: int, m: int, q: int, A_leq: list, b_leq: list, A_geq: list, b_geq: list, cost_vector: list, cost_type: str
) -> dict:
    """Take items by what they add to the demands for what they use, until all demands are met."""
    def worth(j):
        gain = sum(A_geq[i][j] / max(b_geq[i], 1) for i in range(q))
        return gain / (1e-9 + sum(A_leq[i][j] / max(b_leq[i], 1) for i in range(m)))

    x = [0] * n
    for j in sorted(range(n), key=worth, reverse=True):
        if all(sum(A_geq[i][k] * x[k] for k in range(n)) >= b_geq[i] for i in range(q)):
            break
        x[j] = 1
    return {"optimal_value": sum(c for c, chosen in zip(cost_vector, x) if chosen), "x": x}
'''
    objective = """
Knapsack with demands: choose items of the greatest total value that respect all limits and meet all demands. Write `solve(n, m, q, \
A_leq, b_leq, A_geq, b_geq, cost_vector, cost_type)`.
- `n`, `m`, `q` (int): items, limits, demands.
- `A_leq` (list of m lists of n numbers), `b_leq` (list of m): for each i the sum of A_leq[i][j] * x[j] must not exceed b_leq[i].
- `A_geq` (list of q lists of n numbers), `b_geq` (list of q): for each i the sum of A_geq[i][j] * x[j] must be at least b_geq[i].
- `cost_vector` (list of n numbers): the value of each item, some negative where `cost_type` (str) is "mixed", none where "positive".
Return `{"optimal_value": number, "x": [...]}` with n numbers 0 or 1 in `x`; the value is computed by the evaluator.
Score: the sum of cost_vector[j] * x[j], averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `mdmkp` files: the number of problems, and six cases for each.

        A problem is n, m, m rows of <= with limits, m rows of >= with demands, and six vectors of values: three positive and three mixed,
        for the first 1, m / 2 and m demands.
        """
        tokens = Tokens(text)
        for _ in range(tokens.whole()):
            n, m = tokens.whole(), tokens.whole()
            a_leq, b_leq, a_geq, b_geq = tokens.table(m, n), tokens.numbers(m), tokens.table(m, n), tokens.numbers(m)
            for kind in ("positive", "mixed"):
                for q in (1, max(1, m // 2), m):
                    arguments = {
                        "n": n,
                        "m": m,
                        "q": q,
                        "A_leq": a_leq,
                        "b_leq": b_leq,
                        "A_geq": a_geq[:q],
                        "b_geq": b_geq[:q],
                    }
                    yield Case(arguments | {"cost_vector": tokens.numbers(n), "cost_type": kind})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One problem of 30 items, 4 limits and 4 demands that can be solved.

        A hidden choice of half the items uses 80 % of each limit and brings 150 % of each demand.
        """
        use, bring = rng.integers(1, 1001, (4, 30)), rng.integers(1, 1001, (4, 30))
        chosen = rng.permutation(30) < 15  # noqa: PLR2004 - half of 30
        limits, demands = (
            (use[:, chosen].sum(axis=1) / 0.8).astype(int),
            (bring[:, chosen].sum(axis=1) / 1.5).astype(int),
        )
        values = [rng.integers(1, 1000, 30) for _ in range(3)] + [rng.integers(-500, 500, 30) for _ in range(3)]
        return f"1\n30 4\n{rows(use)}\n{rows([limits])}\n{rows(bring)}\n{rows([demands])}\n{rows(values)}\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total value."""
        given = case.arguments
        x = zeros_and_ones(part(answer, "x"), count=given["n"])
        require_at_most(given["A_leq"], x, given["b_leq"])
        for i, (row, demand) in enumerate(zip(given["A_geq"], given["b_geq"], strict=True)):
            if (brought := dot(row, x)) < demand - SLACK * max(1.0, abs(demand)):
                raise invalid(f"Demand {i + 1} is not met: {brought:g} of {demand:g}.")
        return float(dot(given["cost_vector"], x))

    def simple_bound(self, case: Case) -> float:
        """Return the least value of a fractional knapsack with one of the limits, demands aside."""
        given = case.arguments
        return min(
            fractional(given["cost_vector"], row, limit)
            for row, limit in zip(given["A_leq"], given["b_leq"], strict=True)
        )


build_bin_packing = BinPacking.build
build_knapsack = Knapsack.build
build_demand_knapsack = DemandKnapsack.build
