"""Print whether instances keep the order of heuristics that is known: in how many pairs the better one scores better.

    python benchmarks/llm4ad_order.py [--sets 5] [--size small] [--only tsp] > table.md

A ladder lists programs from the worst to the best: one that chooses at random or as badly as it can, the starting program, known and
published heuristics. Every pair of neighbours is compared on each example of the test split, at the task's default sizes; an example is
one set of instances. Exits 1 when less than 95 % of all pairs are kept.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tracebench_engine import api
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.ladders import ladder_of, program_of

KEPT = 0.95
TASKS = (
    "optimization/online_bin_packing",
    "optimization/tsp_construct",
    "optimization/cvrp_construct",
    "optimization/ovrp_construct",
    "optimization/vrptw_construct",
    "optimization/jssp_construct",
    "optimization/bp_1d_construct",
    "optimization/bp_2d_construct",
    "optimization/set_cover_construct",
    "optimization/cflp_construct",
    "optimization/qap_construct",
    "optimization/knapsack_construct",
    "optimization/tsp_gls_2O",
    "machine_learning/acrobot",
    "machine_learning/car_mountain",
    "machine_learning/pendulum",
    "science_discovery/oscillator1",
    "science_discovery/oscillator2",
    "science_discovery/bactgrow",
)


def scores(name: str, rung: str, eval_kwargs: Mapping[str, Any]) -> list[float]:
    """Return the score of a rung on each example of the test split."""
    source = program_of(name, rung)
    values = {"program": source} if source else {}
    feedbacks = api.evaluate_task(f"llm4ad:{name}", values, split="test", eval_kwargs=eval_kwargs)
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
    for name in (name for name in TASKS if wanted.only in name):
        here = {"size": wanted.size} if "bin_packing" in name else {}
        options = {"timeout_seconds": 600, "n_train": 1, "n_validation": 0, "n_test": wanted.sets, **here}
        ladder = [scores(name, rung, options) for rung in ladder_of(name)]
        compared = [better > worse for one, next_ in pairwise(ladder) for worse, better in zip(one, next_, strict=True)]
        good, count = sum(compared), len(compared)
        kept, pairs = kept + good, pairs + count
        rungs = " < ".join(rung.removesuffix(".py").removeprefix("the ").replace("_", " ") for rung in ladder_of(name))
        print(f"| `{BY_NAME[name].name}` | {rungs} | {good} of {count} |", flush=True)
    print(f"\n{kept} of {pairs} pairs kept ({kept / pairs:.1%}; asked: {KEPT:.0%}).")
    sys.exit(0 if kept >= KEPT * pairs else 1)


if __name__ == "__main__":
    main()
