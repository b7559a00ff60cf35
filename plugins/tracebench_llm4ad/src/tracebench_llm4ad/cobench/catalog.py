"""The tasks of CO-Bench as data. Which of them can run depends on the folder that is named, so their needs are added late."""

from __future__ import annotations

from typing import Literal, NamedTuple

from tracebench_core.specs import TaskSpec, TaskVersion
from tracebench_llm4ad.cobench.folder import GENERATED, data_folder, requirement
from tracebench_llm4ad.table import SCIENTIFIC

CITATION = "Sun et al., CO-Bench: Benchmarking Language Model Agents in Algorithm Search for Combinatorial Optimization, arXiv:2504.04310"


class Row(NamedTuple):
    """One task: the end of its name, its folder of data, where it is built, and what it measures."""

    name: str
    folder: str
    loader: str
    title: str
    metric: str
    direction: Literal["maximize", "minimize"] = "minimize"


ROWS = (
    Row("aircraft_landing", "Aircraft landing", "landing:build_aircraft_landing", "Aircraft landing", "penalty"),
    Row("assignment_problem", "Assignment problem", "assignment:build_assignment", "Assignment", "cost"),
    Row("bp_1d", "Bin packing - one-dimensional", "packing:build_bin_packing", "Bin packing in one dimension", "bins"),
    Row(
        "capacitated_warehouse_location",
        "Capacitated warehouse location",
        "location:build_capacitated_warehouses",
        "Warehouse location with capacities",
        "cost",
    ),
    Row(
        "common_due_date_scheduling",
        "Common due date scheduling",
        "scheduling:build_common_due_date",
        "Scheduling for a common due date",
        "penalty",
    ),
    Row(
        "constrained_guillotine_cutting",
        "Constrained guillotine cutting",
        "cutting:build_constrained_guillotine",
        "Guillotine cutting of limited pieces",
        "value",
        "maximize",
    ),
    Row(
        "constrained_non_guillotine_cutting",
        "Constrained non-guillotine cutting",
        "cutting:build_non_guillotine",
        "Cutting of limited pieces",
        "value",
        "maximize",
    ),
    Row(
        "container_loading",
        "Container loading",
        "loading:build_container_loading",
        "Container loading",
        "filled",
        "maximize",
    ),
    Row(
        "euclidean_steiner_problem",
        "Euclidean Steiner problem",
        "routes:build_steiner",
        "Steiner points",
        "gain",
        "maximize",
    ),
    Row("flow_shop_scheduling", "Flow shop scheduling", "scheduling:build_flow_shop", "Flow shop", "makespan"),
    Row(
        "generalised_assignment_problem",
        "Generalised assignment problem",
        "assignment:build_generalised_assignment",
        "Generalised assignment",
        "value",
        "maximize",
    ),
    Row("graph_colouring", "Graph colouring", "graphs:build_colouring", "Graph colouring", "colours"),
    Row("job_shop_scheduling", "Job shop scheduling", "scheduling:build_job_shop", "Job shop", "makespan"),
    Row(
        "multi_demand_multidimensional_knapsack_problem",
        "Multi-Demand Multidimensional Knapsack problem",
        "packing:build_demand_knapsack",
        "Multidimensional knapsack with demands",
        "value",
        "maximize",
    ),
    Row(
        "multidimensional_knapsack_problem",
        "Multidimensional knapsack problem",
        "packing:build_knapsack",
        "Multidimensional knapsack",
        "profit",
        "maximize",
    ),
    Row("open_shop_scheduling", "Open shop scheduling", "scheduling:build_open_shop", "Open shop", "makespan"),
    Row(
        "p_median_capacitated",
        "p-median - capacitated",
        "location:build_capacitated_medians",
        "p-median with capacities",
        "ratio",
        "maximize",
    ),
    Row("p_median_uncapacitated", "p-median - uncapacitated", "location:build_medians", "p-median on a graph", "cost"),
    Row(
        "resource_constrained_shortest_path",
        "Resource constrained shortest path",
        "routes:build_constrained_path",
        "Shortest path with limits",
        "cost",
    ),
    Row("set_covering", "Set covering", "covering:build_set_covering", "Set covering", "cost"),
    Row("set_partitioning", "Set partitioning", "covering:build_set_partitioning", "Set partitioning", "cost"),
    Row(
        "travelling_salesman_problem",
        "Travelling salesman problem",
        "graphs:build_salesman",
        "Travelling salesman",
        "length",
    ),
    Row(
        "uncapacitated_warehouse_location",
        "Uncapacitated warehouse location",
        "location:build_uncapacitated_warehouses",
        "Warehouse location",
        "cost",
    ),
    Row(
        "unconstrained_guillotine_cutting",
        "Unconstrained guillotine cutting",
        "cutting:build_unconstrained_guillotine",
        "Guillotine cutting of single pieces",
        "value",
        "maximize",
    ),
    Row(
        "assortment_problem", "Assortment problem", "assortment:build_assortment", "Assortment of stock sizes", "waste"
    ),
    Row(
        "container_loading_with_weight_restrictions",
        "Container loading with weight restrictions",
        "stacking:build_weighted_loading",
        "Container loading with weights",
        "filled",
        "maximize",
    ),
    Row(
        "corporate_structuring",
        "Corporate structuring",
        "structuring:build_structuring",
        "Corporate structuring",
        "profit",
        "maximize",
    ),
    Row("crew_scheduling", "Crew scheduling", "crews:build_crews", "Crew scheduling", "cost"),
    Row(
        "equitable_partitioning_problem",
        "Equitable partitioning problem",
        "structuring:build_partitioning",
        "Equitable partitioning",
        "imbalance",
    ),
    Row(
        "hybrid_reentrant_shop_scheduling",
        "Hybrid Reentrant Shop Scheduling",
        "reentrant:build_reentrant",
        "Hybrid reentrant shop",
        "makespan",
    ),
    Row(
        "maximal_independent_set",
        "Maximal independent set",
        "independent:build_independent_set",
        "Independent set",
        "size",
        "maximize",
    ),
    Row(
        "packing_unequal_circles",
        "Packing unequal circles",
        "discs:build_circles",
        "Circles in a circle, by number",
        "number",
        "maximize",
    ),
    Row(
        "packing_unequal_circles_area",
        "Packing unequal circles area",
        "discs:build_circles_area",
        "Circles in a circle, by area",
        "area",
        "maximize",
    ),
    Row(
        "packing_unequal_rectangles_and_squares",
        "Packing unequal rectangles and squares",
        "discs:build_rectangles",
        "Rectangles in a circle, by number",
        "number",
        "maximize",
    ),
    Row(
        "packing_unequal_rectangles_and_squares_area",
        "Packing unequal rectangles and squares area",
        "discs:build_rectangles_area",
        "Rectangles in a circle, by area",
        "area",
        "maximize",
    ),
    Row(
        "vehicle_routing_period_routing",
        "Vehicle routing: period routing",
        "periods:build_period_routing",
        "Period vehicle routing",
        "length",
    ),
)


PROVEN = frozenset(
    {
        "assignment_problem",
        "bp_1d",
        "capacitated_warehouse_location",
        "common_due_date_scheduling",
        "constrained_guillotine_cutting",
        "constrained_non_guillotine_cutting",
        "corporate_structuring",
        "crew_scheduling",
        "equitable_partitioning_problem",
        "flow_shop_scheduling",
        "generalised_assignment_problem",
        "graph_colouring",
        "hybrid_reentrant_shop_scheduling",
        "job_shop_scheduling",
        "maximal_independent_set",
        "multi_demand_multidimensional_knapsack_problem",
        "multidimensional_knapsack_problem",
        "open_shop_scheduling",
        "p_median_capacitated",
        "p_median_uncapacitated",
        "resource_constrained_shortest_path",
        "set_covering",
        "set_partitioning",
        "travelling_salesman_problem",
        "uncapacitated_warehouse_location",
        "unconstrained_guillotine_cutting",
    }
)
"""Whose generated cases ship with a proven optimum, so that a scale from 0 to 1 can be told of them (`certificates.json`)."""
SCALED = "Generated cases have a proven optimum: `normalised` is 0 at the starting program and 1 at the optimum."
NO_SCALE = (
    "No optimum is proven for generated cases, and no scale from 0 to 1 is told of them: compare the metric itself."
)


def _spec(row: Row) -> TaskSpec:
    return TaskSpec(
        name=f"optimization/co_bench/{row.name}_co_bench",
        loader=f"{__package__}.{row.loader}",
        title=f"CO-Bench: {row.title}",
        description=f"A whole solver, run once on each case of a file. {SCALED if row.name in PROVEN else NO_SCALE}",
        groups=("all", "co_bench"),
        tags=("co_bench",),
        options=f"{__package__}.problem:CoBenchOptions",
        version=TaskVersion(comparability=6),
        salted=True,
        metric=row.metric,
        direction=row.direction,
        preload=("numpy",),
        sandbox=SCIENTIFIC,
        licence="MIT",
        citation=CITATION,
        source=f"own evaluator; cases {GENERATED}",
    )


SPECS: tuple[TaskSpec, ...] = tuple(map(_spec, ROWS))

DIRECTIONS = {spec.name: spec.direction for spec in SPECS}


def available_specs() -> tuple[TaskSpec, ...]:
    """Return the tasks with their source: generated cases, or, once a folder is named, their sub-folder of it, which they then need."""
    if data_folder() is None:
        return SPECS
    return tuple(
        spec.model_copy(
            update={
                "salted": False,
                "requires": (requirement(row.folder),),
                "source": f"own evaluator; cases from the folder `{row.folder}` of CO-Bench's data",
            }
        )
        for spec, row in zip(SPECS, ROWS, strict=True)
    )
