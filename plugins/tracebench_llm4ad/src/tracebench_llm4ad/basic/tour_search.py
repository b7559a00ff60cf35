"""A local search on tours, vectorised: each step looks at all 2-opt and all relocation moves and takes the best."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracebench_llm4ad.constructive.plane import Floats

Tour = npt.NDArray[np.int64]
GAIN = 1e-9
"""A move must shorten the tour by more than this; so the search ends."""
MOVES = 2000


def tour_length(tour: Tour, distance: Floats) -> float:
    """Return the length of the closed tour."""
    return float(distance[tour, np.roll(tour, -1)].sum())


def descend(tour: Tour, distance: Floats) -> Tour:
    """Return the local optimum that best improvement reaches from `tour` under a symmetric matrix, after `MOVES` moves at most."""
    for _ in range(MOVES):
        matrix = distance[np.ix_(tour, tour)]
        legs = np.diagonal(np.roll(matrix, -1, axis=1))
        reversal = _reversals(matrix, legs)
        relocation = _relocations(matrix, legs)
        i, j = np.unravel_index(int(reversal.argmin()), reversal.shape)
        k, p = np.unravel_index(int(relocation.argmin()), relocation.shape)
        if min(reversal[i, j], relocation[k, p]) >= -GAIN:
            break
        if reversal[i, j] <= relocation[k, p]:
            tour = np.concatenate([tour[: i + 1], tour[i + 1 : j + 1][::-1], tour[j + 1 :]])
        else:
            rest = np.delete(tour, k)
            tour = np.insert(rest, (p if p < k else p - 1) + 1, tour[k])
    return tour


def improve_around(tour: Tour, city: int, distance: Floats) -> Tour:
    """Return the tour after the best move that involves one city, if any shortens it: a reversal that begins with it, or its relocation."""
    size = len(tour)
    turned: Tour = np.roll(tour, -int(np.flatnonzero(tour == city)[0]))
    last, after = int(turned[-1]), int(turned[1])
    to_city, to_last = distance[city, turned], distance[last, turned]
    legs = distance[turned, np.roll(turned, -1)]
    following = np.roll(turned, -1)
    reversal = to_last + distance[city, following] - distance[last, city] - legs
    reversal[[0, size - 2, size - 1]] = np.inf
    removed = distance[last, after] - distance[last, city] - distance[city, after]
    relocation = removed + to_city + distance[city, following] - legs
    relocation[[0, size - 1]] = np.inf
    j, p = int(reversal.argmin()), int(relocation.argmin())
    if min(reversal[j], relocation[p]) >= -GAIN:
        return tour
    if reversal[j] <= relocation[p]:
        return np.concatenate([turned[j::-1], turned[j + 1 :]])
    return np.concatenate([turned[1 : p + 1], turned[:1], turned[p + 1 :]])


def _reversals(matrix: Floats, legs: Floats) -> Floats:
    """Return the change of length when positions i + 1 to j are reversed; infinite unless i < j - 1."""
    change: Floats = matrix + np.roll(np.roll(matrix, -1, axis=0), -1, axis=1) - legs[:, None] - legs[None, :]
    return np.where(np.triu(np.ones_like(change, dtype=bool), 2), change, np.inf)


def _relocations(matrix: Floats, legs: Floats) -> Floats:
    """Return the change of length when the city at position k moves between positions p and p + 1."""
    size = len(matrix)
    index = np.arange(size)
    before, after = np.roll(index, 1), np.roll(index, -1)
    removed = matrix[before, after] - legs[before] - legs
    change: Floats = removed[:, None] + matrix + matrix[:, after] - legs[None, :]
    change[index, index] = np.inf
    change[index, before] = np.inf
    return change
