"""Integer programming: which vertices are medians, and which of them is nearest to each vertex."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(n, m, p, dist):
    """Return the best medians."""
    cost = np.concatenate([np.zeros(n), np.array(dist, dtype=float).ravel()])
    each = np.hstack([np.zeros((n, n)), np.kron(np.eye(n), np.ones(n))])
    opened = np.hstack([-np.tile(np.eye(n), (n, 1)), np.eye(n * n)])
    count = np.concatenate([np.ones(n), np.zeros(n * n)])[None]
    limits = [LinearConstraint(each, 1, 1), LinearConstraint(opened, ub=0), LinearConstraint(count, p, p)]
    kinds = np.concatenate([np.ones(n), np.zeros(n * n)])
    found = milp(cost, constraints=limits, bounds=Bounds(0, 1), integrality=kinds, options={"mip_rel_gap": 0})
    return {"medians": (np.flatnonzero(found.x[:n] > 0.5) + 1).tolist()}
