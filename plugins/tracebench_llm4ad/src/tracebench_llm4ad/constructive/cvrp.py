"""Capacitated vehicle routing, built customer by customer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from tracebench_core.specs import Split
from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.libraries import CVRPLIB, LibraryInstance, deal, library_instances
from tracebench_llm4ad.constructive.options import CvrpOptions
from tracebench_llm4ad.constructive.routing import Routing, RoutingEvaluator

PROGRAM = '''
import numpy as np


def select_next_node(
    current_node: int,
    depot: int,
    unvisited_nodes: np.ndarray,
    rest_capacity: int,
    demands: np.ndarray,
    distance_matrix: np.ndarray,
) -> int:
    """Go where most demand is served per distance."""
    distance = distance_matrix[current_node][unvisited_nodes]
    return int(unvisited_nodes[np.argmax(demands[unvisited_nodes] / np.maximum(distance, 1e-9))])
'''

ARGUMENTS = """
- `current_node` (int): where the vehicle stands; 0 is the depot.
- `depot` (int): always 0.
- `unvisited_nodes` (int array, shape (k,), k >= 1, ascending): the unserved customers that the vehicle can still serve; all others \
are not offered.
- `rest_capacity` (int): what the vehicle can still carry; it starts with 40 unless configured otherwise.
- `demands` (int array, shape (n + 1,)): every node's demand, 1 to 9, and 0 for the depot.
- `distance_matrix` (float array, shape (n + 1, n + 1)): Euclidean distances between all nodes, which are uniform in the unit square \
(n = 50 unless configured otherwise).
Return one element of `unvisited_nodes`, the next customer, as an int; or, when the vehicle is not at the depot, 0 to end its route \
early. When no customer fits any more the route ends by itself. The number of vehicles is free.
"""

OBJECTIVE = f"""
Design a heuristic for the capacitated vehicle routing problem that builds routes one customer at a time. Vehicles leave the depot \
one after another; each serves customers until its capacity is used up and drives back to the depot; every customer is served once.
`select_next_node(current_node, depot, unvisited_nodes, rest_capacity, demands, distance_matrix)` is called once per step.
{ARGUMENTS.strip()}
Score: the mean total length of all routes, ways back included; shorter is better.
"""


class CvrpEvaluator(RoutingEvaluator):
    """Closed routes under a capacity."""

    name = "optimization/cvrp_construct"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the larger of the Held-Karp and the radial lower bound"

    def __init__(self, options: CvrpOptions) -> None:
        super().__init__(options)
        self.dealt: dict[Split, list[LibraryInstance]] | None = None
        if options.data == "real":
            self.dealt = deal(library_instances(CVRPLIB, ".vrp"), options, name=self.name)
            self.objective += "The instances are CVRPLIB's: their sizes, demands and capacities differ, and distances are whole numbers.\n"
            self.bound_source = (
                "the best length known (where none is on file, the larger of the Held-Karp and the radial lower bound)"
            )

    def batches(self, split: Split, salt: str = "") -> Iterator[Sequence[Routing]]:
        """Yield generated batches, or CVRPLIB's instances one by one."""
        if self.dealt is None:
            yield from super().batches(split, salt)
        else:
            yield from ([routing(each)] for each in self.dealt[split])


def routing(found: LibraryInstance) -> Routing:
    """Return a file of CVRPLIB as an instance."""
    anytime = np.tile([0.0, np.inf], (len(found.demands), 1))
    return Routing(found.distance, found.demands, found.capacity, anytime, found.known)


build = loader(CvrpEvaluator, CvrpOptions)
"""Build the task."""
