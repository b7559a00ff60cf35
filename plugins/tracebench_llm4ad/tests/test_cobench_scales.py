"""Each CO-Bench task says whether a scale from 0 to 1 is told of its generated cases, and that is so where optima are proven."""

from __future__ import annotations

import pytest

from tracebench_engine.api.evaluating import evaluate_task
from tracebench_llm4ad.cobench import certificates
from tracebench_llm4ad.cobench.catalog import NO_SCALE, PROVEN, ROWS, SCALED, available_specs


def test_what_a_task_says_is_what_is_shipped() -> None:
    shipped = {name.rpartition("/")[2].removesuffix("_co_bench") for name in certificates._shipped()}
    said = {spec.name.rpartition("/")[2].removesuffix("_co_bench"): spec.description for spec in available_specs()}

    assert shipped == PROVEN
    assert said.keys() == {row.name for row in ROWS}
    assert {name for name, text in said.items() if text.endswith(SCALED)} == PROVEN
    assert {name for name, text in said.items() if text.endswith(NO_SCALE)} == said.keys() - PROVEN


@pytest.mark.parametrize(
    ("name", "is_scaled"), [("set_covering", True), ("crew_scheduling", True), ("container_loading", False)]
)
def test_feedback_tells_a_scale_only_where_an_optimum_is_proven(name: str, is_scaled: bool) -> None:
    [feedback, *_] = evaluate_task(
        f"llm4ad:optimization/co_bench/{name}_co_bench", eval_kwargs={"n_train": 1, "n_validation": 0, "n_test": 0}
    )

    assert feedback.status == "ok"
    assert ("normalised" in feedback.metrics) == is_scaled
    assert ("there is no scale" in feedback.text) != is_scaled
