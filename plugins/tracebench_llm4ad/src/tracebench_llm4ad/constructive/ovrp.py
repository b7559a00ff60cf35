"""Open vehicle routing, built customer by customer: as the capacitated problem, but no vehicle drives back."""

from __future__ import annotations

from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.constructive.cvrp import ARGUMENTS, PROGRAM
from tracebench_llm4ad.constructive.options import RoutingOptions
from tracebench_llm4ad.constructive.plane import spanning_tree
from tracebench_llm4ad.constructive.routing import Routing, RoutingEvaluator

OBJECTIVE = f"""
Design a heuristic for the open vehicle routing problem that builds routes one customer at a time. Vehicles leave the depot one after \
another; each serves customers until its capacity is used up, and its route ends at its last customer: the way back costs nothing. \
Every customer is served once.
`select_next_node(current_node, depot, unvisited_nodes, rest_capacity, demands, distance_matrix)` is called once per step.
{ARGUMENTS.strip()}
Score: the mean total length of all routes, without ways back; shorter is better.
"""


class OvrpEvaluator(RoutingEvaluator):
    """Open routes under a capacity."""

    name = "optimization/ovrp_construct"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the larger of the spanning-tree and the radial lower bound"
    closed = False

    def bound(self, instance: Routing) -> float:
        """Return the larger of the minimum spanning tree and the radial bound: open routes form a spanning tree."""
        radial = float((instance.demands * instance.distance[0]).sum()) / instance.capacity
        return max(spanning_tree(instance.distance).length, radial)


build = loader(OvrpEvaluator, RoutingOptions)
"""Build the task."""
