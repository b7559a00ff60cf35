"""Cases of known outcome come out, each task has one to trust it by and forgeries, and a judge that believes a lie is found out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.whole import HEAVY

from tracebench_core.plugins import PluginHost, discover
from tracebench_core.specs import CaseVerdict
from tracebench_engine.checks.calibration.measuring import calibrate
from tracebench_llm4ad.calibrations import RUNG
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench import folder
from tracebench_llm4ad.cobench.assignment import Assignment
from tracebench_llm4ad.cobench.problem import Case
from tracebench_llm4ad.constructive.knapsack import KnapsackEvaluator
from tracebench_llm4ad.constructive.tsp import TspEvaluator
from tracebench_llm4ad.evaluator import Verdict
from tracebench_llm4ad.forgeries import CLAIM, FORGERIES
from tracebench_llm4ad.ladders import START, ladder_of, program_of
from tracebench_llm4ad.optima import optimal_program
from tracebench_llm4ad.published import published_program

COBENCH = "optimization/co_bench/"
SOLVED = (
    "assignment_problem",
    "generalised_assignment_problem",
    "maximal_independent_set",
    "multi_demand_multidimensional_knapsack_problem",
    "multidimensional_knapsack_problem",
    "p_median_uncapacitated",
    "set_covering",
    "set_partitioning",
    "travelling_salesman_problem",
    "uncapacitated_warehouse_location",
)


@pytest.fixture(autouse=True)
def generated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEBENCH_CACHE", str(tmp_path))  # anchors of a broken judge are nobody else's
    monkeypatch.delenv(folder.VARIABLE, raising=False)
    folder.configure({})


def verdicts(name: str, **options: Any) -> dict[str, CaseVerdict]:
    found = calibrate(PluginHost(discover({"llm4ad"})), f"llm4ad:{name}", eval_kwargs=options)
    return {verdict.case: verdict for verdict in found}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("optimization/knapsack_construct", {"n_train": 1}),
        ("optimization/ovrp_construct", {"n_train": 1, "problem_size": 20, "n_instance": 2}),
        (f"{COBENCH}assignment_problem_co_bench", {"n_train": 1}),
    ],
)
def test_the_cases_of_a_task_come_out(name: str, options: Mapping[str, Any]) -> None:
    found = verdicts(name, **options)

    assert {verdict.result for verdict in found.values()} == {"passed"}, found
    assert {START, *FORGERIES} <= set(found)


def test_a_judge_that_believes_the_answers_total_fails_its_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    def believed(_self: Assignment, _case: Case, answer: Mapping[str, Any]) -> float:
        return float(answer.get("total_cost", 1000.0))

    monkeypatch.setattr(Assignment, "value", believed)
    found = verdicts(f"{COBENCH}assignment_problem_co_bench", n_train=1)

    (lie,) = CLAIM
    assert found[lie].result == "failed"
    assert found["the optimum"].result == "failed"


@HEAVY
def test_a_ladder_stands_on_an_honest_anchor_and_is_climbed_by_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    found = verdicts("optimization/tsp_construct", n_train=1, problem_size=20, n_instance=2)
    assert {kind: v.result for v in found.values() if (kind := v.kind) in {"anchor", "order"}} == {
        "anchor": "passed", "order": "passed",
    }  # fmt: skip
    assert [v.case for v in found.values() if v.kind == "anchor"] == ["farthest city"]

    judge = TspEvaluator.judge

    def turned(self: TspEvaluator, instance: Any, solution: Any) -> Verdict:
        return Verdict(1 / judge(self, instance, solution).value)

    monkeypatch.setattr(TspEvaluator, "judge", turned)
    found = verdicts("optimization/tsp_construct", n_train=1, problem_size=20, n_instance=2)
    assert found[RUNG].result == "failed"


def test_a_judge_that_counts_half_fails_its_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = KnapsackEvaluator.judge

    def halved(self: KnapsackEvaluator, instance: Any, solution: Any) -> Verdict:
        return Verdict(judge(self, instance, solution).value / 2)

    monkeypatch.setattr(KnapsackEvaluator, "judge", halved)
    found = verdicts("optimization/knapsack_construct", n_train=1)

    assert found["the optimum"].result == "failed"


def test_ladders_and_published_rows_name_programs_that_are_there() -> None:
    for name in BY_NAME:
        for rung in ladder_of(name):
            assert rung == START or program_of(name, rung).startswith(('"""', "import", "def")), (name, rung)
    rows = [row for row in yaml.safe_load(published_program("llm4ad.yaml")) if row.get("calibrates")]
    assert len({(row["heuristic"], row["instances"]) for row in rows}) == len(rows) >= 8
    assert all(optimal_program(f"{COBENCH}{name}_co_bench") for name in SOLVED)
    assert optimal_program(f"{COBENCH}no_such_problem_co_bench") == ""
