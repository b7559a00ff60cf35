"""Points in the unit square and the spanning-tree bound that routing tasks share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def distances(points: Floats) -> Floats:
    """Return the Euclidean distance matrix of `points`, shape (n, 2)."""
    difference = points[:, None, :] - points[None, :, :]
    result: Floats = np.sqrt((difference**2).sum(axis=2))
    return result


@dataclass(frozen=True, slots=True)
class Tree:
    """A tree, or a tree and one more edge, over all nodes."""

    length: float
    degrees: npt.NDArray[np.int64]


def held_karp_bound(distance: Floats, *, steps: int = 200) -> float:
    """Return a lower bound on the shortest closed tour: 1-trees under sub-gradient ascent (Held and Karp 1970, 1971)."""
    size = len(distance)
    if size < 3:  # noqa: PLR2004 - there and back, or nowhere
        return float(distance.sum())
    weights = np.zeros(size)
    best = 0.0
    pace = float(distance.sum() / size**2 / 2)
    for _ in range(steps):
        changed = distance + weights[:, None] + weights[None, :]
        tree = _one_tree(changed)
        best = max(best, tree.length - 2 * float(weights.sum()))
        weights += pace * (tree.degrees - 2)
        pace *= 0.97
    return best


def spanning_tree(distance: Floats) -> Tree:
    """Return a minimum spanning tree (Prim)."""
    size = len(distance)
    degrees = np.zeros(size, dtype=np.int64)
    nearest = np.zeros(size, dtype=np.int64)
    cost = distance[0].copy()
    cost[0] = np.inf
    outside = np.ones(size, dtype=bool)
    outside[0] = False
    length = 0.0
    for _ in range(size - 1):
        node = int(np.argmin(cost))
        length += float(cost[node])
        degrees[node] += 1
        degrees[nearest[node]] += 1
        outside[node] = False
        cost[node] = np.inf
        closer = outside & (distance[node] < cost)
        cost[closer] = distance[node][closer]
        nearest[closer] = node
    return Tree(length, degrees)


def _one_tree(distance: Floats) -> Tree:
    tree = spanning_tree(distance[1:, 1:])
    first, second = np.argsort(distance[0, 1:], kind="stable")[:2] + 1
    all_degrees = np.concatenate([[2], tree.degrees])
    all_degrees[[first, second]] += 1
    return Tree(tree.length + float(distance[0, first] + distance[0, second]), all_degrees)
