"""Nearest neighbour with a sweep's preference for the depot's far side: short legs, and away from the depot first."""

import numpy as np


def select_next_node(
    current_node: int,
    depot: int,
    unvisited_nodes: np.ndarray,
    rest_capacity: int,
    demands: np.ndarray,
    distance_matrix: np.ndarray,
) -> int:
    """Return the customer of the largest saving, as Clarke and Wright (1964) rank them; the farthest one starts a route."""
    to_depot = distance_matrix[unvisited_nodes, depot]
    if current_node == depot:
        return int(unvisited_nodes[np.argmax(to_depot)])
    return int(unvisited_nodes[np.argmax(to_depot - 1.5 * distance_matrix[current_node, unvisited_nodes])])
