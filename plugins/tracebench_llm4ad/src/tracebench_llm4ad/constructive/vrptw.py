"""Vehicle routing with time windows, built customer by customer."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.options import RoutingOptions
from tracebench_llm4ad.constructive.routing import HORIZON, Routing, RoutingEvaluator, Vehicle

PROGRAM = '''
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
    """Go to the customer whose window closes first."""
    return int(unvisited_nodes[np.argmin(time_windows[unvisited_nodes, 1])])
'''

OBJECTIVE = f"""
Design a heuristic for the vehicle routing problem with time windows that builds routes one customer at a time. Vehicles leave the \
depot one after another, at time 0; each serves customers within its capacity and their time windows and is back at the depot by \
time {HORIZON:g}; every customer is served once. Driving takes as much time as it is far; service takes none; a vehicle that comes \
before a window opens waits.
`select_next_node(current_node, depot, unvisited_nodes, rest_capacity, current_time, demands, distance_matrix, time_windows)` is \
called once per step.
- `current_node` (int): where the vehicle stands; 0 is the depot.
- `depot` (int): always 0.
- `unvisited_nodes` (int array, shape (k,), k >= 1, ascending): the unserved customers that this vehicle can still serve in time and \
within its capacity; all others are not offered.
- `rest_capacity` (int): what the vehicle can still carry; it starts with 40 unless configured otherwise.
- `current_time` (float): the time at which the vehicle is ready to leave `current_node`.
- `demands` (int array, shape (n + 1,)): every node's demand, 1 to 9, and 0 for the depot.
- `distance_matrix` (float array, shape (n + 1, n + 1)): Euclidean distances between all nodes, which are uniform in the unit square \
(n = 50 unless configured otherwise).
- `time_windows` (float array, shape (n + 1, 2)): earliest and latest arrival to be served at every node.
Return one element of `unvisited_nodes`, the next customer, as an int; or, when the vehicle is not at the depot, 0 to end its route \
early. When no customer fits any more the route ends by itself. The number of vehicles is free.
Score: the mean total length of all routes, ways back included; shorter is better. Waiting costs nothing.
"""


class VrptwEvaluator(RoutingEvaluator):
    """Closed routes under a capacity and time windows; the bound is that of the problem without windows."""

    name = "optimization/vrptw_construct"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the larger of the Held-Karp and the radial lower bound (windows relaxed)"
    timed = True

    def arguments(self, instance: Routing, vehicle: Vehicle, fitting: list[int]) -> tuple[Any, ...]:
        """Return the arguments of the untimed problem with the time and the windows in their places."""
        node, depot, customers, rest, demands, distance = super().arguments(instance, vehicle, fitting)
        return node, depot, customers, rest, vehicle.now, demands, distance, np.array(instance.windows)


build = loader(VrptwEvaluator, RoutingOptions)
"""Build the task."""
