"""Rollout (Bertsekas 1997): try the nearest five cities, finish each tour by nearest neighbour, keep the shortest."""

import numpy as np


def completed(node: int, destination: int, remaining: np.ndarray, distance: np.ndarray) -> float:
    """Return the length of the nearest-neighbour path from `node` through `remaining` to `destination`."""
    length = 0.0
    while len(remaining):
        nearest = int(np.argmin(distance[node, remaining]))
        length += distance[node, remaining[nearest]]
        node = int(remaining[nearest])
        remaining = np.delete(remaining, nearest)
    return length + float(distance[node, destination])


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray
) -> int:
    """Return the first city of the best completed tour."""
    order = np.argsort(distance_matrix[current_node, unvisited_nodes], kind="stable")[:5]
    lengths = [
        distance_matrix[current_node, unvisited_nodes[k]]
        + completed(int(unvisited_nodes[k]), destination_node, np.delete(unvisited_nodes, k), distance_matrix)
        for k in order
    ]
    return int(unvisited_nodes[order[int(np.argmin(lengths))]])
