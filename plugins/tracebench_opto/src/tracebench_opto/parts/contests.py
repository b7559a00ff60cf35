"""What candidates of a frontier compete for: examples, objectives, both, or each objective on each example (gepa
0.1.4, `frontier_type`)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from tracebench_core.specs import Example, Objective
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.search import Search

FrontierType = Literal["instance", "objective", "hybrid", "cartesian"]
Contests = Callable[[Entry, Sequence[Example]], dict[str, float]]
"""A candidate's score in each contest, more is better; contests in which it did not compete are left out."""


def contests_of(kind: FrontierType, search: Search) -> Contests:
    """Return the contests of one kind for a search; where the task declares no objectives, every metric that its guide gives is one."""
    if kind == "instance":
        return by_example
    return partial(_by_objective, kind=kind, objectives=search.problem.objectives)


def by_example(entry: Entry, examples: Sequence[Example]) -> dict[str, float]:
    """Return the mean score on each example."""
    return entry.example_means(examples)


def _by_objective(
    entry: Entry, examples: Sequence[Example], *, kind: FrontierType, objectives: Sequence[Objective]
) -> dict[str, float]:
    directions = {o.metric: 1.0 if o.direction == "maximize" else -1.0 for o in objectives}
    found: dict[str, dict[str, float]] = {}
    for example in examples:
        result = entry.latest.get(example.id)
        if result is None or result[0].feedback.status != "ok":
            continue
        for metric, value in result[0].feedback.metrics.items():
            if not directions or metric in directions:
                found.setdefault(metric, {})[example.id] = value * directions.get(metric, 1.0)
    if kind == "cartesian":
        return {f"{example} {metric}": value for metric, row in found.items() for example, value in row.items()}
    means = {metric: math.fsum(row.values()) / len(row) for metric, row in found.items() if len(row) == len(examples)}
    return means if kind == "objective" else by_example(entry, examples) | means
