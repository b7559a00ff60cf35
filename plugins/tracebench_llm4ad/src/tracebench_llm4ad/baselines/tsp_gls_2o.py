"""The classical penalty (Voudouris and Tsang 1999): lengthen the tour's edges of the largest utility, distance over 1 + times used."""

import numpy as np


def update_edge_distance(edge_distance: np.ndarray, local_opt_tour: np.ndarray, edge_n_used: np.ndarray) -> np.ndarray:
    """Lengthen the five edges of the largest utility by the mean edge of the tour."""
    a, b = local_opt_tour, np.roll(local_opt_tour, -1)
    utility = edge_distance[a, b] / (1 + edge_n_used[a, b])
    worst = np.argsort(-utility, kind="stable")[:5]
    updated = edge_distance.copy()
    updated[a[worst], b[worst]] += edge_distance[a, b].mean()
    updated[b[worst], a[worst]] = updated[a[worst], b[worst]]
    return updated
