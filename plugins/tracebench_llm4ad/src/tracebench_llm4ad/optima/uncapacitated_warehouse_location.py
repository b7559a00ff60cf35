"""Integer programming: which warehouses are open, and who serves each customer."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(m, n, warehouses, customers):
    """Return the cheapest open warehouses and their customers."""
    cost = np.concatenate([[w["fixed_cost"] for w in warehouses], *(c["costs"] for c in customers)])
    each = np.hstack([np.zeros((n, m)), np.kron(np.eye(n), np.ones(m))])
    opened = np.hstack([-np.tile(np.eye(m), (n, 1)), np.eye(n * m)])
    limits = [LinearConstraint(each, 1, 1), LinearConstraint(opened, ub=0)]
    kinds = np.ones(len(cost))
    found = milp(cost, constraints=limits, bounds=Bounds(0, 1), integrality=kinds, options={"mip_rel_gap": 0})
    chosen = np.round(found.x).astype(int)
    return {"warehouse_open": chosen[:m].tolist(), "assignments": chosen[m:].reshape(n, m).tolist()}
