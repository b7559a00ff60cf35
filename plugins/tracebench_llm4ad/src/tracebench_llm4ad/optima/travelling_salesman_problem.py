"""Integer programming: edges of the tour, partial tours forbidden as they appear (Dantzig, Fulkerson and Johnson 1954)."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(nodes):
    """Return the shortest tour."""
    n = len(nodes)
    first, second = np.triu_indices(n, 1)
    places = np.array(nodes, dtype=float)
    cost = np.hypot(*(places[first] - places[second]).T)
    twice = np.array([(first == v) | (second == v) for v in range(n)], dtype=float)
    limits = [LinearConstraint(twice, 2, 2)]
    kinds = np.ones(len(cost))
    while True:
        found = milp(cost, constraints=limits, bounds=Bounds(0, 1), integrality=kinds, options={"mip_rel_gap": 0})
        near = {v: [] for v in range(n)}
        for edge in np.flatnonzero(found.x > 0.5):
            near[int(first[edge])].append(int(second[edge]))
            near[int(second[edge])].append(int(first[edge]))
        left = set(range(n))
        while left:
            tour = [min(left)]
            while onward := [v for v in near[tour[-1]] if v not in tour]:
                tour.append(onward[0])
            if len(tour) == n:
                return {"tour": tour}
            left -= set(tour)
            inside = np.isin(first, tour) & np.isin(second, tour)
            limits.append(LinearConstraint(inside.astype(float)[None], ub=len(tour) - 1))
