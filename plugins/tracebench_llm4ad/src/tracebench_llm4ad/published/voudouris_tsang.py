"""Guided local search as published by Voudouris and Tsang: penalties on a local optimum's edges of the greatest utility."""

import numpy as np

SHARE = 2.0
"""Of the mean leg of the first local optimum: the weight of one penalty."""
state = {}


def update_edge_distance(edge_distance: np.ndarray, local_opt_tour: np.ndarray, edge_n_used: np.ndarray) -> np.ndarray:
    """Penalise the tour's edges of the greatest distance per penalty, and add the weighted penalties to all distances."""
    ends = local_opt_tour, np.roll(local_opt_tour, -1)
    legs = edge_distance[ends]
    if not edge_n_used.any():
        state["penalties"] = np.zeros_like(edge_distance)
        state["weight"] = SHARE * legs.mean()
    penalties = state["penalties"]
    utility = legs / (1 + penalties[ends])
    for k in np.flatnonzero(utility >= utility.max() - 1e-12):
        i, j = ends[0][k], ends[1][k]
        penalties[i, j] += 1
        penalties[j, i] += 1
    return edge_distance + state["weight"] * penalties
