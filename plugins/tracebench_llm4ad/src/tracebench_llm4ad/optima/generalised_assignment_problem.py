"""Integer programming: a decision for each agent and job."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(m, n, cost_matrix, consumption_matrix, capacities, problem_type="max"):
    """Return the best agent of each job."""
    sign = -1 if problem_type == "max" else 1
    once, used = np.tile(np.eye(n), m), np.zeros((m, m * n))
    for i in range(m):
        used[i, i * n : (i + 1) * n] = consumption_matrix[i]
    limits = [LinearConstraint(once, 1, 1), LinearConstraint(used, ub=capacities)]
    cost = sign * np.array(cost_matrix, dtype=float).ravel()
    found = milp(cost, constraints=limits, bounds=Bounds(0, 1), integrality=np.ones(m * n), options={"mip_rel_gap": 0})
    return {"assignments": (found.x.reshape(m, n).argmax(axis=0) + 1).tolist()}
