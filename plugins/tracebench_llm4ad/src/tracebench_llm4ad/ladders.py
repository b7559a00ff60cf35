"""Ladders: programs of which each is known to be better than the one before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.published import published_program

START, KNOWN = "the starting program", "the known heuristic"
WORST: Mapping[str, str] = {
    "worst fit": "import numpy as np\ndef priority(item, bins):\n    return 1.0 * (bins - item)\n",
    "farthest city": "def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):\n"
    "    return int(max(unvisited_nodes, key=lambda city: distance_matrix[current_node][city]))\n",
    "farthest customer": "def select_next_node(current_node, depot, unvisited_nodes, rest_capacity, *others):\n"
    "    return int(max(unvisited_nodes, key=lambda city: others[-1][current_node][city]))\n",
    "lowest value per weight": "def select_next_item(remaining_capacity, remaining_items):\n"
    "    return min(remaining_items, key=lambda item: item[1] / item[0])\n",
    "fewest new elements": "def select_next_subset(selected_subsets, remaining_subsets, remaining_elements):\n"
    "    useful = [s for s in remaining_subsets if set(s) & set(remaining_elements)]\n"
    "    return min(useful, key=lambda s: len(set(s) & set(remaining_elements)))\n",
}
"""Programs that choose as badly as they can."""
LADDERS: Mapping[str, Sequence[str]] = {
    "optimization/online_bin_packing": ("worst fit", "first_fit.py", "best_fit.py", "funsearch_weibull.py"),
    "optimization/tsp_construct": ("farthest city", START, KNOWN, "insertion.py"),
    "optimization/cvrp_construct": ("farthest customer", START, KNOWN),
    "optimization/ovrp_construct": ("farthest customer", START, KNOWN),
    "optimization/set_cover_construct": ("fewest new elements", START, KNOWN),
    "optimization/knapsack_construct": ("lowest value per weight", START, KNOWN),
}
"""From the worst to the best, by task; other tasks whose known heuristic beats the start have those two."""


def ladder_of(name: str) -> Sequence[str]:
    """Return the rungs of a task, from the worst to the best; empty where no order is known."""
    spec = BY_NAME.get(name)
    return LADDERS.get(name, (START, KNOWN) if spec is not None and spec.answers else ())


def program_of(name: str, rung: str) -> str:
    """Return the source of a rung of a task's ladder; empty for the starting program."""
    if rung == START:
        return ""
    if rung in WORST:
        return WORST[rung]
    return load_baseline(name) if rung == KNOWN else published_program(rung)
