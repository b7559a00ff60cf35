"""The Hungarian method, as scipy has it."""

from scipy.optimize import linear_sum_assignment


def solve(n, cost_matrix):
    """Return the cheapest assignment."""
    rows, columns = linear_sum_assignment(cost_matrix)
    return {"assignment": [(int(i) + 1, int(j) + 1) for i, j in zip(rows, columns)]}
