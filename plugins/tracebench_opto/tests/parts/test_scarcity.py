"""Tests are large where proposals are scarce and evaluations are not, and nowhere else."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.specs import Budget, BudgetState
from tracebench_core.specs.events import Decision
from tracebench_opto.parts.scarcity import Variant, affordable, breadth, spare
from tracebench_opto.trainers import (
    basic_search,
    gepa_base,
    minibatch,
    novelty,
    opro,
    pareto_search,
    priority_search,
    sequential_search,
    textual_gradients,
)
from tracebench_testing.teacher import Teacher
from tracebench_testing.toys import build_dials
from tracebench_testing.trials import run_trial


def view(caps: Budget, used: BudgetState | None = None) -> Any:
    spent = used or BudgetState()

    def remaining(axis: str) -> float | None:
        cap = getattr(caps, axis)
        return None if cap is None else max(0.0, cap - (getattr(spent, axis) or 0))

    return SimpleNamespace(caps=caps, used=lambda: spent, remaining=remaining)


@pytest.mark.parametrize(
    ("caps", "used", "examples"),
    [
        (Budget(llm_calls=20), None, math.inf),
        (Budget(llm_calls=20, evaluations=400), None, 20.0),
        (Budget(llm_calls=20, evaluations=400), BudgetState(llm_calls=10, evaluations=100), 30.0),
        (Budget(tokens=10_000, evaluations=300), BudgetState(llm_calls=2, tokens=4_000, evaluations=0), 100.0),
        (Budget(usd=1.0), BudgetState(llm_calls=1, usd=0.1), math.inf),
        (Budget(evaluations=400), None, 0.0),
        (Budget(), None, 0.0),
        (Budget(llm_calls=20, seconds=60.0), None, 0.0),
        (Budget(llm_calls=20), BudgetState(llm_calls=20), math.inf),
    ],
)
def test_what_each_proposal_can_be_measured_on(caps: Budget, used: BudgetState | None, examples: float) -> None:
    assert affordable(view(caps, used), asks_models=False) == pytest.approx(examples)
    assert affordable(view(caps, used), asks_models=True) == 0.0


@pytest.mark.parametrize(
    ("caps", "used", "left"),
    [
        (Budget(llm_calls=20), None, math.inf),
        (Budget(llm_calls=20, evaluations=400), None, 200.0),
        (Budget(llm_calls=20, evaluations=100), None, -100.0),
        (Budget(llm_calls=20, evaluations=400), BudgetState(llm_calls=15, evaluations=100), 250.0),
        (Budget(evaluations=400), None, None),
        (Budget(llm_calls=20, evaluations=400, seconds=60.0), None, None),
    ],
)
def test_what_the_proposals_to_come_leave(caps: Budget, used: BudgetState | None, left: float | None) -> None:
    assert spare(view(caps, used), each=10, asks_models=False) == left
    assert spare(view(caps, used), each=10, asks_models=True) is None


@pytest.mark.parametrize("module", [gepa_base, minibatch, sequential_search])
def test_a_test_is_as_large_as_the_budget_affords(module: Any) -> None:
    toy = build_dials(train=12, validation=20)

    def verdicts(budget: Budget, **settings: Any) -> set[str]:
        teacher = Teacher(toy.lesson, seed=1)
        done = run_trial(module.build(module.Settings(**settings)), toy, answer=teacher, budget=budget, seed=1)
        assert done.error is None
        return {e.reason.partition(" on ")[2] for e in done.events if isinstance(e, Decision)}

    paper = verdicts(Budget(llm_calls=12), variant="paper")
    assert len(paper) == 1
    assert verdicts(Budget(evaluations=150)) == paper
    large = verdicts(Budget(llm_calls=12))
    assert large
    assert not large & paper
    assert all(" and 20 of " in words for words in large)
    assert any(" and 20 of " not in words for words in verdicts(Budget(llm_calls=12, evaluations=250)))


@pytest.mark.parametrize(
    ("calls", "variant", "sizes", "expected"),
    [
        (20, "budget", [(None, 4)], [1]),
        (40, "budget", [(None, 4)], [2]),
        (79, "budget", [(None, 4)], [3]),
        (200, "budget", [(None, 4)], [4]),
        (None, "budget", [(None, 4)], [4]),
        (20, "paper", [(None, 4)], [4]),
        (20, "budget", [(6, 4)], [6]),
        (20, "budget", [(None, 2), (None, 2)], [1, 1]),
        (40, "budget", [(None, 2), (None, 2)], [2, 1]),
        (80, "budget", [(None, 2), (None, 2)], [2, 2]),
        (60, "budget", [(3, 3), (None, 4)], [3, 1]),
        (1, "budget", [(None, 8)], [1]),
    ],
)
def test_steps_are_as_broad_as_leaves_twenty_of_them(
    calls: int | None, variant: Variant, sizes: list[tuple[int | None, int]], expected: list[int]
) -> None:
    assert breadth(Budget(llm_calls=calls), variant, *sizes) == expected


@pytest.mark.parametrize(
    ("module", "paper"),
    [(basic_search, 5), (priority_search, 5), (pareto_search, 6), (opro, 3), (novelty, 10), (textual_gradients, 3)],
    ids=lambda value: getattr(value, "__name__", "").rpartition(".")[2],
)
def test_twenty_calls_are_spent_one_after_another_unless_published_otherwise(module: Any, paper: int) -> None:
    toy = build_dials(parameters=3)
    steps = {}
    for variant in ("budget", "paper"):
        teacher = Teacher(toy.lesson, improves=0.6, harms=0.3, seed=1)
        trainer = module.build(module.Settings(variant=variant))
        trial = run_trial(trainer, toy, answer=teacher, budget=Budget(llm_calls=20), seed=1)
        assert trial.error is None
        assert trial.used.llm_calls == 20
        steps[variant] = len(trial.steps)
    per_step = 1 + len(toy.task.parameters) if module is textual_gradients else 1
    assert abs(steps["budget"] - 20 / per_step) <= 1
    assert abs(steps["paper"] - paper) <= 1
