"""The family's tasks as data."""

from __future__ import annotations

from tracebench_core.specs import TaskSpec
from tracebench_llm4ad.table import row

OPTIONS = "constructive.options"

SPECS: tuple[TaskSpec, ...] = (
    row(
        "optimization/tsp_construct",
        "constructive.tsp",
        title="Travelling salesman, built city by city",
        description="Choose the next city of a tour; the mean tour length counts.",
        metric="tour_length",
        direction="minimize",
        options=f"{OPTIONS}:TspOptions",
        tags=("routing",),
    ),
)
