"""Farthest insertion: the city that is farthest from the tour goes where it costs least; the tour is then followed."""

import numpy as np

routes: dict = {}
"""By instance: calls for several of them may alternate."""


def planned(distance: np.ndarray) -> list:
    """Return a tour from city 0 through all cities."""
    first = int(distance[0].argmax())
    tour = [0, first]
    gap = np.minimum(distance[0], distance[first])
    while len(tour) < len(distance):
        city = int(gap.argmax())
        after = tour[1:] + tour[:1]
        place = int(np.argmin(distance[tour, city] + distance[city, after] - distance[tour, after]))
        tour.insert(place + 1, city)
        gap = np.minimum(gap, distance[city])
    return tour


def select_next_node(
    current_node: int, destination_node: int, unvisited_nodes: np.ndarray, distance_matrix: np.ndarray
) -> int:
    """Return the next city."""
    instance = np.asarray(distance_matrix).tobytes()
    if instance not in routes:
        routes[instance] = planned(distance_matrix)
    route = routes[instance]
    return route[route.index(current_node) + 1]
