"""Solutions are drawn: from the judged solution to SVG in which nothing can act, and from a real run to the view."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tracebench_core.plugins import load_ref
from tracebench_engine import api
from tracebench_engine.api.analysis import build_views
from tracebench_engine.config import parse_config
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench.catalog import SPECS as CO_BENCH
from tracebench_llm4ad.code_task import CodeTask, seeding
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import MOST_MARKS, Drawing
from tracebench_llm4ad.drawings.svg import panels
from tracebench_llm4ad.drawings.view import RECORD
from tracebench_llm4ad.heuristic import load_trusted
from tracebench_runs.reading.reader import load_run

OWN = (
    "circle_packing", "optimization/tsp_construct", "optimization/tsp_gls_2O", "optimization/cvrp_construct", "optimization/jssp_construct",
    "optimization/bp_1d_construct", "optimization/bp_2d_construct", "optimization/cflp_construct", "optimization/knapsack_construct",
    "optimization/set_cover_construct", "optimization/qap_construct", "optimization/online_bin_packing",
)  # fmt: skip
DRAWN = {
    "aircraft_landing", "bp_1d", "common_due_date_scheduling", "constrained_guillotine_cutting", "constrained_non_guillotine_cutting",
    "euclidean_steiner_problem", "flow_shop_scheduling", "job_shop_scheduling", "open_shop_scheduling", "p_median_capacitated",
    "travelling_salesman_problem", "unconstrained_guillotine_cutting", "hybrid_reentrant_shop_scheduling", "packing_unequal_circles",
    "packing_unequal_circles_area", "packing_unequal_rectangles_and_squares", "packing_unequal_rectangles_and_squares_area",
    "vehicle_routing_period_routing",
}  # fmt: skip
"""Tasks of CO-Bench whose answers can be seen: places, sheets and schedules; the others answer with choices."""


def drawn(task: CodeTask) -> Drawing | None:
    """Draw what the starting program makes of the first test case."""
    case = task.splits["test"][0].input[0]
    rules = task.evaluator
    program = load_trusted(rules.program, rules.entry, prelude=task._prelude + seeding(0, numpy=rules.needs_numpy))
    solution = rules.solve(case.instance, program)
    rules.judge(case.instance, solution)
    return rules.draw(case.instance, solution)


def as_svg(drawing: Drawing) -> str:
    data = json.loads(json.dumps(drawing.data(), allow_nan=False))
    return panels([("initial: a < b", data), ("best & <script>", data)])


@pytest.mark.parametrize(
    "name", [*OWN, *(s.name for s in CO_BENCH if s.name.split("/")[-1].removesuffix("_co_bench") in DRAWN)]
)
def test_a_solution_is_drawn_and_nothing_in_it_can_act(name: str) -> None:
    from tracebench_analysis.figures.views import clean_svg

    spec = BY_NAME[name]
    sizes = {} if name == "circle_packing" else {"n_train": 1, "n_test": 1}
    drawing = drawn(load_ref(spec.loader, owner=name)(**sizes))
    assert drawing is not None
    assert drawing.marks
    assert clean_svg(as_svg(drawing))


def test_places_have_the_distances_that_were_given() -> None:
    import numpy as np

    points = np.random.default_rng(1).random((30, 2))
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    found = kinds.places(distance)
    assert np.allclose(np.linalg.norm(found[:, None] - found, axis=2), distance)


def test_what_cannot_be_shown_is_left_out_and_told() -> None:
    drawing = Drawing()
    drawing.circle(float("nan"), 0, 1)
    drawing.circle(0, float("inf"), 1)
    for _ in range(MOST_MARKS + 5):
        drawing.box(0, 0, 1, 1)
    assert drawing.data()["left_out"] == 7
    assert "7 marks are left out" in as_svg(drawing)
    assert "<script>" not in as_svg(drawing)
    assert as_svg(Drawing())


def test_a_run_shows_what_its_best_candidate_made(tmp_path: Path) -> None:
    config: dict[str, Any] = {
        "mode": "stub", "run_id": "r", "runs_dir": str(tmp_path), "seeds": [1], "budget": {"evaluations": 4},
        "tasks": ["llm4ad:circle_packing"], "trainers": ["NoOp"],
    }  # fmt: skip
    with (tmp_path / "log").open("w") as log:
        api.run(parse_config(config), stream=log)
    run = load_run(tmp_path / "r")
    job_id = run.planned[0].job_id
    records = [e for e in run.events(job_id) if e.kind == "record"]
    held_out = [record.data["held_out"] for record in records]
    assert {record.name for record in records} == {f"llm4ad.{RECORD}"}
    assert sorted(held_out) == [
        False,
        False,
        True,
    ]  # in training, by who scores, and once on test though that is measured twice
    (shown,) = build_views(api.open_host().catalog(), run, job_id, kinds=["picture"])
    assert not shown.problem
    assert "initial: " in shown.content  # NoOp's best
    assert [*build_views(api.open_host().catalog(), run, None)] == []
    (followed,) = build_views(api.open_host().catalog(), run, job_id, kinds=["frames"])
    assert [name for name, _ in followed.content] == ["c0"]
    assert "25 circles" in followed.content[0][1]
