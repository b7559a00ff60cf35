"""The time-oriented nearest neighbour of Solomon (1987): distance, waiting and urgency in one measure."""

import numpy as np


def select_next_node(
    current_node: int,
    depot: int,
    unvisited_nodes: np.ndarray,
    rest_capacity: int,
    current_time: float,
    demands: np.ndarray,
    distance_matrix: np.ndarray,
    time_windows: np.ndarray,
) -> int:
    """Return the customer of the smallest measure."""
    distance = distance_matrix[current_node, unvisited_nodes]
    start = np.maximum(current_time + distance, time_windows[unvisited_nodes, 0])
    urgency = time_windows[unvisited_nodes, 1] - (current_time + distance)
    return int(unvisited_nodes[np.argmin(0.7 * distance + 0.2 * (start - current_time) + 0.1 * urgency)])
