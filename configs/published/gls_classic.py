"""Guided local search (Voudouris and Tsang 1999): penalise the tour's edges of the greatest length over penalties."""

import numpy as np


def update_edge_distance(edge_distance: np.ndarray, local_opt_tour: np.ndarray, edge_n_used: np.ndarray) -> np.ndarray:
    """Return the distances of the guided search."""
    here, there = local_opt_tour, np.roll(local_opt_tour, -1)
    utility = edge_distance[here, there] / (1 + edge_n_used[here, there])
    guided = edge_distance.copy()
    guided[here, there] += utility
    guided[there, here] = guided[here, there]
    return guided
