"""The assignment of rows to columns with the greatest sum (Kuhn 1955, in the form of shortest augmenting paths)."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf


def best_alignment(table: Sequence[Sequence[float]]) -> float:
    """Return the greatest sum of entries, at most one in each row and column. Cubic in the smaller side, linear in the other."""
    if not table or not table[0]:
        return 0.0
    rows = table if len(table) <= len(table[0]) else list(zip(*table, strict=True))
    height, width = len(rows), len(rows[0])
    row_price, column_price = [0.0] * (height + 1), [0.0] * (width + 1)
    owner = [0] * (width + 1)  # of each column, counted from 1; column 0 is the start of a path
    for row in range(1, height + 1):
        owner[0], at = row, 0
        slack, came = [inf] * (width + 1), [0] * (width + 1)
        visited = [False] * (width + 1)
        while owner[at]:
            visited[at] = True
            for column in range(1, width + 1):
                if not visited[column]:
                    cost = -rows[owner[at] - 1][column - 1] - row_price[owner[at]] - column_price[column]
                    if cost < slack[column]:
                        slack[column], came[column] = cost, at
            free = [c for c in range(1, width + 1) if not visited[c]]
            following = min(free, key=slack.__getitem__)
            step = slack[following]
            for column in range(width + 1):
                if visited[column]:
                    row_price[owner[column]] += step
                    column_price[column] -= step
                else:
                    slack[column] -= step
            at = following
        while at:
            owner[at], at = owner[came[at]], came[at]
    return sum(rows[owner[c] - 1][c - 1] for c in range(1, width + 1) if owner[c])
