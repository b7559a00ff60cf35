"""Nearest neighbour."""

import numpy as np


def select_next_node(
    current_node: int,
    depot: int,
    unvisited_nodes: np.ndarray,
    rest_capacity: int,
    demands: np.ndarray,
    distance_matrix: np.ndarray,
) -> int:
    """Return the nearest customer that still fits."""
    return int(unvisited_nodes[np.argmin(distance_matrix[current_node, unvisited_nodes])])
