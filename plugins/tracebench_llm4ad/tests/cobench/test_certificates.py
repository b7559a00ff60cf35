"""The end of the scale is an optimum that was proven, or there is no scale; and a program that hangs costs one time-out."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from tracebench_core.specs import Feedback
from tracebench_llm4ad.cobench import folder
from tracebench_llm4ad.cobench.catalog import SPECS
from tracebench_llm4ad.cobench.certificates import SHIPPED, WIDEST, Certificate, certificate_of, digest
from tracebench_llm4ad.cobench.problem import GENERATOR_SEED, Problem

Evaluate = Callable[..., Feedback]
HELD = json.loads(SHIPPED.read_text(encoding="utf-8"))
BEST = """
def solve(n, cost_matrix):
    from scipy.optimize import linear_sum_assignment
    rows, columns = linear_sum_assignment(cost_matrix)
    return {"assignment": [(int(i) + 1, int(j) + 1) for i, j in zip(rows, columns)]}
"""


@pytest.fixture(autouse=True)
def generated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(folder.VARIABLE, raising=False)
    folder.configure({})


def problem_of(name: str) -> type[Problem]:
    module, _, function = next(spec for spec in SPECS if spec.name == name).loader.partition(":")
    owner: type[Problem] = getattr(import_module(module), function).__self__
    return owner


@pytest.mark.parametrize("name", sorted(HELD), ids=lambda name: name.rpartition("/")[2])
def test_every_generated_case_has_an_optimum_that_no_simple_bound_contradicts(name: str) -> None:
    kind = problem_of(name)
    task = kind.build(data="generated")
    rules: Any = task.evaluator
    sign = 1 if task.spec.direction == "maximize" else -1
    cases = [c for file, text in kind.generated(GENERATOR_SEED).items() for c in kind.parsed(text, name=file)]
    assert {digest(case.arguments) for case in cases} == set(HELD[name]["cases"])
    for case in cases:
        proven = certificate_of(name, case.arguments)
        assert proven is not None
        assert proven.gap <= WIDEST
        assert rules.is_scaled(case)
        assert sign * proven.value <= sign * rules.simple_bound(case) + 1e-6 * abs(proven.value)
    some = task.splits["train"][0].input[0]
    assert sign * task.anchors(some).start <= sign * task.anchors(some).bound + 1e-6


def test_an_optimal_answer_is_told_as_1(evaluate: Evaluate) -> None:
    task = problem_of("optimization/co_bench/assignment_problem_co_bench").build(data="generated")
    for example in task.splits["test"]:
        feedback = evaluate(task, BEST, example=example)
        assert feedback.metrics["normalised"] == pytest.approx(1)
        assert "the optimum, proven by" in feedback.text


def test_without_an_optimum_there_is_no_scale(evaluate: Evaluate) -> None:
    task = problem_of("optimization/co_bench/euclidean_steiner_problem_co_bench").build(data="generated")
    feedback = evaluate(task)
    assert feedback.status == "ok"
    assert "normalised" not in feedback.metrics
    assert "there is no scale" in feedback.text


def test_cases_that_only_a_salt_can_draw_have_no_scale(evaluate: Evaluate) -> None:
    kind = problem_of("optimization/co_bench/assignment_problem_co_bench")
    task = kind.build(data="generated", salts={"test": "grain"})
    feedback = evaluate(task, BEST, example=task.splits["test"][0])
    assert "normalised" not in feedback.metrics


def test_a_gap_that_is_too_wide_is_no_certificate() -> None:
    assert Certificate(100.0, 97.0, "x").gap > WIDEST
    assert Certificate(100.0, 99.0, "x").gap <= WIDEST


def test_a_program_that_hangs_costs_one_time_out(evaluate: Evaluate) -> None:
    task = problem_of("optimization/co_bench/assignment_problem_co_bench").build(data="generated", timeout_seconds=1.0)
    hangs = "def solve(n, cost_matrix):\n    while True: pass\n"
    first, *others = task.splits["train"]
    assert "Not run" not in evaluate(task, hangs, example=first).text
    for example in others:
        feedback = evaluate(task, hangs, example=example)
        assert (feedback.status, "Not run" in feedback.text) == ("timeout", True)
    assert "Not run" not in evaluate(task, hangs, example=first).text
    assert evaluate(task, example=others[0]).status == "ok"
