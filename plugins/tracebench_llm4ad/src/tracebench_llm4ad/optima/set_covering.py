"""Integer programming: a decision for each column."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(m, n, costs, row_cover):
    """Return the cheapest columns that cover every row."""
    covers = np.zeros((m, n))
    for row, columns in enumerate(row_cover):
        covers[row, [c - 1 for c in columns]] = 1
    limits = LinearConstraint(covers, lb=1)
    found = milp(costs, constraints=limits, bounds=Bounds(0, 1), integrality=np.ones(n), options={"mip_rel_gap": 0})
    return {"selected_columns": (np.flatnonzero(found.x > 0.5) + 1).tolist()}
