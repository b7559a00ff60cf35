"""Insertion (Rosenkrantz, Stearns and Lewis 1977): the next city goes where it costs least; the finished tour is then followed."""

import numpy as np

RULE = "farthest"
"""Of the cities that are left, the next is the `farthest` from the tour, the `nearest` to it, or any (`random`)."""
routes: dict = {}
"""By instance: calls for several of them may alternate."""


def planned(distance: np.ndarray) -> list:
    """Return a tour from city 0 through all cities."""
    left = np.ones(len(distance), dtype=bool)
    left[0] = False
    tour, gap = [0], distance[0].copy()
    while left.any():
        cities = np.flatnonzero(left)
        random = np.random.randint(len(cities))
        picked = {"farthest": gap[cities].argmax(), "nearest": gap[cities].argmin(), "random": random}
        city = int(cities[picked[RULE]])
        after = tour[1:] + tour[:1]
        place = int(np.argmin(distance[tour, city] + distance[city, after] - distance[tour, after]))
        tour.insert(place + 1, city)
        gap = np.minimum(gap, distance[city])
        left[city] = False
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
