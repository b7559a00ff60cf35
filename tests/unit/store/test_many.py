"""What a job may have hundreds of thousands of takes little memory, and is in all else as any other spec."""

from __future__ import annotations

import gc
import json
import tracemalloc

import pytest

from tracebench_core.specs import BudgetState, StepResult

STEP = {"index": 7, "score": 0.1, "best": 0.5, "seconds": 1.5, "used": {"evaluations": 3, "usd": None}}


def test_a_step_takes_a_third_of_what_a_model_takes_that_keeps_which_fields_were_given() -> None:
    text = json.dumps(STEP)
    gc.collect()
    tracemalloc.start()
    steps = [StepResult.model_validate_json(text) for _ in range(2000)]
    size = tracemalloc.get_traced_memory()[0] / len(steps)
    tracemalloc.stop()
    assert size < 1000


def test_a_step_is_a_model_like_any_other() -> None:
    step = StepResult.model_validate(STEP)
    assert step == StepResult.model_validate_json(step.model_dump_json())
    assert step.model_copy(update={"index": 8}) != step
    assert json.loads(step.model_dump_json(exclude_unset=True))["used"]["tokens"] == 0
    assert BudgetState() == BudgetState(evaluations=0)
    with pytest.raises(ValueError, match="frozen"):
        step.index = 8  # type: ignore[misc]
