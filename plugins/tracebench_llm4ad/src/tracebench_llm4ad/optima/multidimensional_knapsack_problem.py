"""Integer programming: a decision for each item."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(n, m, p, r, b):
    """Return the best choice of items."""
    limits = LinearConstraint(np.array(r, dtype=float), ub=b)
    cost = -np.array(p, dtype=float)
    found = milp(cost, constraints=limits, bounds=Bounds(0, 1), integrality=np.ones(n), options={"mip_rel_gap": 0})
    return {"x": np.round(found.x).astype(int).tolist()}
