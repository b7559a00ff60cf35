"""The rule that AEL (Liu et al. 2023) and ReEvo (Ye et al. 2024) found, with their weights: near, far from the end, apart from the rest."""

import numpy as np

NEAR, REST, SPREAD, END = 0.4, 0.25, 0.25, 0.1
"""Of the way there, of the mean and of the spread of the ways on from there, and of the way to the end; ReEvo's."""
THRESHOLD = np.inf
"""If no city has a lower score than this, the nearest one is next; AEL's is 0.7, its weights 0.4, 0.3, 0.2 and 0.1."""


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray
) -> int:
    """Return the city of the lowest score."""
    there = distance_matrix[current_node, unvisited_nodes]
    among = distance_matrix[np.ix_(unvisited_nodes, unvisited_nodes)]
    on = among[~np.eye(len(among), dtype=bool)].reshape(len(among), -1)
    end = distance_matrix[destination_node, unvisited_nodes]
    score = NEAR * there - REST * on.mean(axis=1) + SPREAD * on.std(axis=1) - END * end
    return int(unvisited_nodes[np.argmin(there if score.min() > THRESHOLD else score)])
