"""Integer programming: a decision for each item."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(n, m, q, A_leq, b_leq, A_geq, b_geq, cost_vector, cost_type):
    """Return the best choice of items within the limits that meets the demands."""
    limits = [
        LinearConstraint(np.array(A_leq, dtype=float), ub=b_leq),
        LinearConstraint(np.array(A_geq, dtype=float), lb=b_geq),
    ]
    cost = -np.array(cost_vector, dtype=float)
    found = milp(cost, constraints=limits, bounds=Bounds(0, 1), integrality=np.ones(n), options={"mip_rel_gap": 0})
    return {"x": np.round(found.x).astype(int).tolist()}
