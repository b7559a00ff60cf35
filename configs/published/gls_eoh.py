"""The heuristic of Evolution of Heuristics (Liu et al. 2024): noise, relative length, and a discount for edges used often."""

import numpy as np


def update_edge_distance(edge_distance: np.ndarray, local_opt_tour: np.ndarray, edge_n_used: np.ndarray) -> np.ndarray:
    """Return the distances of the guided search."""
    here, there = local_opt_tour, np.roll(local_opt_tour, -1)
    length = edge_distance[here, there]
    used = edge_n_used[here, there] / max(1, edge_n_used.max())
    pressure = np.random.uniform(0.7, 1.3, len(here)) + length / edge_distance.mean() - 0.3 * used
    guided = edge_distance.copy()
    guided[here, there] = 0.9 * length + 2 * pressure
    guided[there, here] = guided[here, there]
    return guided
