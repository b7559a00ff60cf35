"""Nearest neighbour: go on to the closest city that is left."""

import numpy as np


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray
) -> int:
    """Return the next city."""
    return int(unvisited_nodes[np.argmin(distance_matrix[current_node, unvisited_nodes])])
