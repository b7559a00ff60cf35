"""Columns that cover rows: set covering and set partitioning, in OR-Library's formats."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, distinct, part, rows
from tracebench_llm4ad.evaluator import invalid


class SetCovering(Problem):
    """Every row at least once."""

    name = "optimization/co_bench/set_covering_co_bench"
    folder = "Set covering"
    program = '''
def solve(m: int, n: int, costs: list, row_cover: list) -> dict:
    """Cover each uncovered row by its cheapest column."""
    selected = set()
    for columns in row_cover:
        if not selected.intersection(columns):
            selected.add(min(columns, key=lambda c: costs[c - 1]))
    return {"selected_columns": sorted(selected)}
'''
    objective = """
Set covering: choose columns of the least total cost so that every row is covered. Write `solve(m, n, costs, row_cover)`.
- `m`, `n` (int): rows and columns. `costs` (list of n numbers): `costs[j]` is the cost of column j + 1.
- `row_cover` (list of m lists): the columns, from 1 to n, that cover each row.
Return `{"selected_columns": [...]}`, different column numbers from 1 to n; each row must be covered by at least one of them.
Score: minus the total cost, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `scp` files: m, n, the costs, and for each row the number of its columns and the columns."""
        tokens = Tokens(text)
        m, n = tokens.whole(), tokens.whole()
        costs = tokens.numbers(n)
        cover = [tokens.wholes(tokens.whole()) for _ in range(m)]
        if not all(columns and 1 <= min(columns) <= max(columns) <= n for columns in cover):
            raise ValueError("a row has no column, or one that does not exist")
        yield Case({"m": m, "n": n, "costs": costs, "row_cover": cover})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 30 rows and 60 columns: density 0.1, costs from 1 to 100 (Balas and Ho, 1980)."""
        covers = rng.random((30, 60)) < 0.1  # noqa: PLR2004 - the density
        covers[np.arange(30), rng.permutation(60)[:30]] = True
        lists = "\n".join(f"{row.sum()}\n{' '.join(str(j + 1) for j in np.flatnonzero(row))}" for row in covers)
        return f"30 60\n{rows([rng.integers(1, 101, 60)])}\n{lists}\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total cost."""
        given = case.arguments
        chosen = distinct(part(answer, "selected_columns"), allowed=range(1, given["n"] + 1), what="selected_columns")
        taken = set(chosen)
        for i, columns in enumerate(given["row_cover"], start=1):
            if taken.isdisjoint(columns):
                raise invalid(
                    f"Row {i} is not covered; the columns that cover it are {', '.join(map(str, columns[:10]))}."
                )
        return float(sum(given["costs"][c - 1] for c in chosen))

    def simple_bound(self, case: Case) -> float:
        """Return a dual solution's value: each row pays the least share of a column that covers it (cost / rows of the column)."""
        sizes: dict[int, int] = {}
        for columns in case.arguments["row_cover"]:
            for c in set(columns):
                sizes[c] = sizes.get(c, 0) + 1
        costs = case.arguments["costs"]
        return float(sum(min(costs[c - 1] / sizes[c] for c in columns) for columns in case.arguments["row_cover"]))


class SetPartitioning(Problem):
    """Every row exactly once."""

    name = "optimization/co_bench/set_partitioning_co_bench"
    folder = "Set partitioning"
    program = '''
def solve(num_rows: int, num_columns: int, columns_info: dict) -> dict:
    """Search depth first, cheapest column per row first, for up to 20,000 steps."""
    by_row = {}
    for column, (cost, covered) in columns_info.items():
        for row in covered:
            by_row.setdefault(row, []).append((cost / len(covered), column))
    for columns in by_row.values():
        columns.sort()
    steps = 0

    def extend(left, chosen):
        nonlocal steps
        steps += 1
        if not left or steps > 20000:
            return chosen if not left else None
        row = min(left, key=lambda r: len(by_row.get(r, [])))
        for _, column in by_row.get(row, []):
            covered = columns_info[column][1]
            if covered <= left:
                found = extend(left - covered, [*chosen, column])
                if found is not None or steps > 20000:
                    return found
        return None

    found = extend(set(range(1, num_rows + 1)), [])
    return {"selected_columns": sorted(found or [])}
'''
    objective = """
Set partitioning: choose columns of the least total cost so that every row is covered exactly once. Write `solve(num_rows, num_columns, \
columns_info)`.
- `num_rows`, `num_columns` (int).
- `columns_info` (dict): column number from 1 on -> tuple (cost, set of the rows it covers, from 1 to num_rows).
Return `{"selected_columns": [...]}`, different column numbers in increasing order.
Score: minus the total cost, averaged over cases. A row that is covered twice or not at all is refused.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `sppnw` files: rows, columns, and for each column its cost, the number of its rows and the rows."""
        tokens = Tokens(text)
        m, n = tokens.whole(), tokens.whole()
        columns = {}
        for column in range(1, n + 1):
            cost = tokens.number()
            columns[column] = (cost, set(tokens.wholes(tokens.whole())))
        yield Case({"num_rows": m, "num_columns": n, "columns_info": columns})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One case of 20 rows and 80 columns of 2 to 4 rows, two hidden partitions among them; 50 to 150 is the cost of each row."""
        sets: list[list[int]] = []
        for _ in range(2):
            order, start = rng.permutation(20) + 1, 0
            while start < len(order):
                width = int(rng.integers(2, 5))
                sets.append(sorted(order[start : start + width].tolist()))
                start += width
        while len(sets) < 80:  # noqa: PLR2004 - columns
            sets.append(sorted((rng.permutation(20)[: int(rng.integers(2, 5))] + 1).tolist()))
        shuffled = [sets[k] for k in rng.permutation(80)]
        lines = [f"{int(100 * len(s) * rng.uniform(0.5, 1.5))} {len(s)} {' '.join(map(str, s))}" for s in shuffled]
        return "20 80\n" + "\n".join(lines) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the total cost."""
        given = case.arguments
        chosen = distinct(
            part(answer, "selected_columns"), allowed=range(1, given["num_columns"] + 1), what="selected_columns"
        )
        by: dict[int, int] = {}
        for column in chosen:
            for row in given["columns_info"][column][1]:
                if row in by:
                    raise invalid(f"Row {row} is covered twice, by columns {by[row]} and {column}.")
                by[row] = column
        if missing := set(range(1, given["num_rows"] + 1)) - set(by):
            raise invalid(f"{len(missing)} rows are not covered, among them row {min(missing)}.")
        return float(sum(given["columns_info"][c][0] for c in chosen))

    def simple_bound(self, case: Case) -> float:
        """Return a dual solution's value: each row pays the least share of a column that covers it (cost / rows of the column)."""
        share: dict[int, float] = {}
        for cost, covered in case.arguments["columns_info"].values():
            for row in covered:
                share[row] = min(share.get(row, cost / len(covered)), cost / len(covered))
        return float(sum(share.values()))


build_set_covering = SetCovering.build
build_set_partitioning = SetPartitioning.build
