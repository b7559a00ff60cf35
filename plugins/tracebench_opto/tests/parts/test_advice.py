"""What plan and validate are told: which comparisons tell nothing at a budget, and what a task leaves a trainer to do."""

from __future__ import annotations

from itertools import product
from math import prod
from typing import Any

import pytest

from tracebench_core.plugins import load_ref
from tracebench_core.specs import Budget, TaskShape
from tracebench_opto.parts.advice import chance_to_lead
from tracebench_opto.trainers.specs import TRAINER_SPECS

ROOMY = Budget(llm_calls=200, evaluations=20_000)


def advice(name: str, budget: Budget, *, parameters: int = 1, validation: int = 40, **settings: Any) -> list[str]:
    spec = next(s for s in TRAINER_SPECS if s.name == name)
    assert spec.settings is not None
    assert spec.advice is not None
    made = load_ref(spec.settings, owner=name)(**settings)
    shape = TaskShape(parameters=parameters, train=40, validation=validation, budget=budget)
    found: list[str] = load_ref(spec.advice, owner=name)(made, shape)
    return found


@pytest.mark.parametrize("examples", [1, 2, 3, 5])
def test_the_chance_is_that_of_all_outcomes_counted(examples: int) -> None:
    outcomes = list(product((0, 1), repeat=examples))

    def weight(outcome: tuple[int, ...], rate: float) -> float:
        return prod(rate if right else 1 - rate for right in outcome)

    counted = sum(weight(c, 0.6) * weight(p, 0.5) for c in outcomes for p in outcomes if sum(c) > sum(p))
    assert chance_to_lead(examples) == pytest.approx(counted)


@pytest.mark.parametrize("spec", [s for s in TRAINER_SPECS if s.advice], ids=lambda s: s.name)
def test_none_is_warned_of_where_a_budget_is_roomy(spec: Any) -> None:
    widened = {"validation_dataset_size": 20} if "Beam" in spec.name and not spec.name.startswith("GEPA") else {}
    assert advice(spec.name, ROOMY, parameters=3, **widened) == []


def test_a_small_test_is_told_with_its_size_and_what_to_set() -> None:
    paper = advice("GEPA-Base", ROOMY, variant="paper")
    assert len(paper) == 1
    assert paper[0].startswith("it turns a child down on 3 examples, as published; `variant: budget`")
    assert f"leads a parent right in 0.5 in {chance_to_lead(3):.0%} of the tests" in paper[0]
    assert advice("GEPA-Base", ROOMY, variant="paper", acceptance_test=False) == []
    poor = advice("Minibatch", Budget(llm_calls=20, evaluations=200))
    assert poor
    assert poor[-1].startswith("it turns a child down on 5 examples: ")
    assert advice("Minibatch", Budget(llm_calls=20)) == []
    assert advice("Minibatch", Budget(llm_calls=20, seconds=60.0))[-1].startswith("it turns a child down on 2 examples")


def test_few_compared_examples_are_told_with_what_made_them_few() -> None:
    assert "on 4 of 40 examples" in advice("PrioritySearch", Budget(evaluations=40))[0]
    assert "a higher cap of evaluations gives it more" in advice("PrioritySearch", Budget(evaluations=40))[0]
    assert "validation_size gives it more" in advice("PrioritySearch", ROOMY, validation_size=3)[0]
    assert advice("PrioritySearch", ROOMY, validation=4) == []


def test_what_a_task_leaves_nothing_to_do_is_told() -> None:
    for name in ("GEPA-Merge", "GEPA-UCB", "GEPA-Beam"):
        assert "nothing to merge" in advice(name, ROOMY)[0]
        assert advice(name, ROOMY, merge_every=0) == []
    assert "cuts its beam on 5 examples" in advice("BeamSearch", ROOMY)[0]
    scarce = Budget(llm_calls=20)
    assert "20 calls buy 5 updates of 4 calls each" in advice("TextualGradients", scarce, parameters=3)[0]
    assert "20 calls buy 3 updates of 6 calls" in advice("TextualGradients", scarce, parameters=3, variant="paper")[0]
    assert advice("TextualGradients", scarce) == []
