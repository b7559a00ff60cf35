"""The length of a shortest closed tour, proven: an integer program to which violated subtour constraints are added (HiGHS)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import csr_array, vstack
from scipy.sparse.csgraph import connected_components


def optimal_length(distance: np.ndarray) -> float:
    """Return the length of a shortest closed tour under a symmetric matrix, shape (n, n)."""
    size = len(distance)
    first, second = np.triu_indices(size, 1)
    edges = np.arange(len(first))
    degree = csr_array((np.ones(2 * len(edges)), (np.concatenate([first, second]), np.tile(edges, 2))))
    rows, least, most = [degree], [np.full(size, 2.0)], [np.full(size, 2.0)]
    while True:
        constraint = LinearConstraint(vstack(rows), np.concatenate(least), np.concatenate(most))
        found = milp(distance[first, second], integrality=np.ones(len(edges)), bounds=(0, 1), constraints=constraint)
        used = found.x > 0.5
        graph = csr_array((np.ones(used.sum()), (first[used], second[used])), shape=(size, size))
        count, part = connected_components(graph, directed=False)
        if count == 1:
            return float(found.fun)
        inside = [(part[first] == k) & (part[second] == k) for k in range(count)]
        rows.append(csr_array(np.array(inside, dtype=float)))
        least.append(np.zeros(count))
        most.append(np.bincount(part).astype(float) - 1)
