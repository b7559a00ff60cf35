"""Greedy by the smallest increase: the facility that exchanges most with those placed goes where it adds least."""

import numpy as np


def select_next_assignment(
    current_assignment: list[int], flow_matrix: np.ndarray, distance_matrix: np.ndarray
) -> list[int]:
    """Place one facility."""
    flow = flow_matrix + flow_matrix.T
    placed = [f for f, location in enumerate(current_assignment) if location >= 0]
    waiting = [f for f, location in enumerate(current_assignment) if location < 0]
    free = [location for location in range(len(current_assignment)) if location not in current_assignment]
    if not placed:
        facility = int(np.argmax(flow.sum(axis=1)))
        current_assignment[facility] = int(np.argmin((distance_matrix + distance_matrix.T).sum(axis=1)))
        return current_assignment
    at = [current_assignment[f] for f in placed]
    facility = max(waiting, key=lambda f: flow[f, placed].sum())
    added = distance_matrix[np.ix_(free, at)] @ flow_matrix[facility, placed]
    added = added + flow_matrix[placed, facility] @ distance_matrix[np.ix_(at, free)]
    current_assignment[facility] = free[int(np.argmin(added))]
    return current_assignment
