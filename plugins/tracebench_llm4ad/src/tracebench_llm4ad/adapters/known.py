"""What is known of tasks by the last part of their names: objectives that are inverted, scores that are vectors, ways of evaluation."""

from __future__ import annotations

from typing import Literal, NamedTuple


class Correction(NamedTuple):
    """A score whose sign upstream is wrong: the quantity itself is never negative, so that its size is the native metric."""

    metric: str
    direction: Literal["maximize", "minimize"]
    words: str


CORRECTED = {
    "knapsack_construct": Correction(
        "value",
        "maximize",
        "returns minus the total value, so that taking nothing would be the best; the value counts here",
    ),
    "pymoo_moead": Correction(
        "hypervolume", "maximize", "returns minus the hypervolume, although more is better; the hypervolume counts here"
    ),
    "open_shop_scheduling_co_bench": Correction(
        "ratio", "maximize", "returns minus the share of the lower bound in the makespan; the share itself counts here"
    ),
    "p_median_capacitated_co_bench": Correction(
        "ratio", "maximize", "returns minus the share of the best known cost in the cost; the share itself counts here"
    ),
    "generalised_assignment_problem_co_bench": Correction(
        "value", "maximize", "returns minus the value of assignments, although more is better; the value counts here"
    ),
}

RENAMED = {"vehicle_routing_period_routing_co_bench": {"costumers": "customers"}}
"""Keys that an evaluator reads from its own cases under another name than its loader writes."""

VECTORS: dict[str, tuple[str, ...]] = {
    "online_bin_packing_2O": ("quality", "speed"),
    "tsp_gls_2O": ("quality", "speed"),
}
"""Names of the components, all of which are maximised as they are returned."""

WRITTEN_BACK = {"qap_construct": 0}
"""Tasks whose evaluator expects the function to change one of its arguments, a list, in place; with the argument's position."""

MENDED_PROGRAMS = {"feynman_srsd": (r"\bx\[", "xs[")}
"""Starting programs that use a name which is not defined: what is replaced, by what."""

REHEARSED = {
    f"{name}_construct"
    for name in ("bp_1d", "bp_2d", "cflp", "cvrp", "jssp", "knapsack", "ovrp", "qap", "set_cover", "tsp", "vrptw")
}
"""Tasks that call the function hundreds of times, and show it the whole instance."""
