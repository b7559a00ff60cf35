"""Integer programming: a decision for each vertex."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp


def solve(graph):
    """Return a largest set of vertices of which no two are neighbours."""
    vertices = sorted(graph)
    place = {v: k for k, v in enumerate(vertices)}
    edges = [(place[v], place[u]) for v in vertices for u in graph[v] if v < u]
    ends = np.zeros((len(edges), len(vertices)))
    for row, (v, u) in enumerate(edges):
        ends[row, [v, u]] = 1
    kinds = np.ones(len(vertices))
    found = milp(-kinds, constraints=LinearConstraint(ends, ub=1), bounds=Bounds(0, 1), integrality=kinds)
    return {"mis_nodes": [vertices[k] for k in np.flatnonzero(found.x > 0.5)]}
