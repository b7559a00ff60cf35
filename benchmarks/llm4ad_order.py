"""Print whether instances keep the order of heuristics that is known: in how many pairs the better one scores better.

    python benchmarks/llm4ad_order.py [--sets 5] [--size small] [--only tsp] > table.md

A ladder lists programs from the worst to the best: one that chooses at random or as badly as it can, the starting program, known and
published heuristics. Every pair of neighbours is compared on each example of the test split, at the task's default sizes; an example is
one set of instances. Exits 1 when less than 95 % of all pairs are kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from tracebench_core import api
from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.catalog import BY_NAME

PUBLISHED = Path(__file__).resolve().parent.parent / "configs" / "published"
KEPT = 0.95
START, KNOWN = "start", "known heuristic"
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
LADDERS: Mapping[str, Sequence[str]] = {
    "optimization/online_bin_packing": ("worst fit", "first_fit.py", "best_fit.py", "funsearch_weibull.py"),
    "optimization/tsp_construct": ("farthest city", START, KNOWN, "farthest_insertion.py"),
    "optimization/cvrp_construct": ("farthest customer", START, KNOWN),
    "optimization/ovrp_construct": ("farthest customer", START, KNOWN),
    "optimization/vrptw_construct": (START, KNOWN),
    "optimization/jssp_construct": (START, KNOWN),
    "optimization/bp_1d_construct": (START, KNOWN),
    "optimization/bp_2d_construct": (START, KNOWN),
    "optimization/set_cover_construct": ("fewest new elements", START, KNOWN),
    "optimization/cflp_construct": (START, KNOWN),
    "optimization/qap_construct": (START, KNOWN),
    "optimization/knapsack_construct": ("lowest value per weight", START, KNOWN),
    "optimization/tsp_gls_2O": (START, KNOWN),
    "machine_learning/acrobot": (START, KNOWN),
    "machine_learning/car_mountain": (START, KNOWN),
    "machine_learning/pendulum": (START, KNOWN),
    "science_discovery/oscillator1": (START, KNOWN),
    "science_discovery/oscillator2": (START, KNOWN),
    "science_discovery/bactgrow": (START, KNOWN),
}


def program(name: str, rung: str) -> dict[str, str]:
    """Return the values of one rung of a task's ladder; those that are left out are the starting program's."""
    if rung == START:
        return {}
    if rung in WORST:
        return {"program": WORST[rung]}
    return {"program": load_baseline(name) if rung == KNOWN else (PUBLISHED / rung).read_text(encoding="utf-8")}


def scores(name: str, rung: str, eval_kwargs: Mapping[str, Any]) -> list[float]:
    """Return the score of a rung on each example of the test split."""
    feedbacks = api.evaluate_task(f"llm4ad:{name}", program(name, rung), split="test", eval_kwargs=eval_kwargs)
    if failed := [feedback for feedback in feedbacks if feedback.status != "ok"]:
        raise SystemExit(f"{rung} on {name}: {failed[0].text}")
    return [feedback.score for feedback in feedbacks]


def main() -> None:
    """Compare and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=5, help="examples of the test split")
    parser.add_argument("--size", choices=("literature", "small"), default="literature", help="of online bin packing")
    parser.add_argument("--only", default="", help="only tasks whose name contains this")
    wanted = parser.parse_args()
    print("| task | from worst to best | pairs kept |\n|---|---|---|")
    kept = pairs = 0
    for name in (name for name in LADDERS if wanted.only in name):
        here = {"size": wanted.size} if "bin_packing" in name else {}
        options = {"timeout_seconds": 600, "n_train": 1, "n_validation": 0, "n_test": wanted.sets, **here}
        ladder = [scores(name, rung, options) for rung in LADDERS[name]]
        compared = [better > worse for one, next_ in pairwise(ladder) for worse, better in zip(one, next_, strict=True)]
        good, count = sum(compared), len(compared)
        kept, pairs = kept + good, pairs + count
        rungs = " < ".join(rung.removesuffix(".py").replace("_", " ") for rung in LADDERS[name])
        print(f"| `{BY_NAME[name].name}` | {rungs} | {good} of {count} |", flush=True)
    print(f"\n{kept} of {pairs} pairs kept ({kept / pairs:.1%}; asked: {KEPT:.0%}).")
    sys.exit(0 if kept >= KEPT * pairs else 1)


if __name__ == "__main__":
    main()
