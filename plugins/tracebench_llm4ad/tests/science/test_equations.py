"""The law-finding tasks: what an equation earns, and what it cannot earn."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError
from tests.whole import cells, one_in

from tracebench_core.specs import Feedback
from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.science import fitting
from tracebench_llm4ad.science.catalog import SPECS
from tracebench_llm4ad.science.equation_task import EquationTask
from tracebench_llm4ad.science.evaluator import digits, nmse
from tracebench_llm4ad.science.feynman_laws import FORMULAS
from tracebench_llm4ad.science.feynman_srsd import FeynmanOptions
from tracebench_llm4ad.science.ode_laws import MOTIONS
from tracebench_llm4ad.seclusion import ROOT

Evaluate = Callable[..., Feedback]
NAMES = [spec.name for spec in SPECS]
SPRING = "science_discovery/oscillator2"


def build(name: str, **options: Any) -> EquationTask:
    spec = next(spec for spec in SPECS if spec.name == name)
    module, _, function = spec.loader.partition(":")
    task: EquationTask = getattr(import_module(module), function)(**options)
    return task


@pytest.mark.parametrize("name", cells(zip(NAMES, strict=True), always=zip(NAMES[1::4], strict=True)))
def test_the_starting_equation_scores_and_the_generating_law_scores_better(name: str, evaluate: Evaluate) -> None:
    task = build(name)
    start = evaluate(task)
    law = evaluate(task, load_baseline(name))

    assert (start.status, law.status) == ("ok", "ok")
    assert start.metrics["normalised"] == pytest.approx(0, abs=0.01)
    assert law.metrics["normalised"] > 0.6
    assert law.score > start.score + 2
    assert law.metrics["nmse"] < 1e-3
    assert "Fitted params" in law.text


@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_is_the_same_every_time_and_in_no_two_splits(name: str) -> None:
    options = {"n_instance": 1, "n_train": 2, "n_validation": 2, "n_test": 2}
    first, second = build(name, **options), build(name, **options)
    targets = [
        tuple(case.instance.held_targets.tolist())
        for task in (first, second)
        for examples in task.splits.values()
        for example in examples
        for case in example.input
    ]

    assert targets[:6] == targets[6:]
    assert len(set(targets)) == 6


@pytest.mark.parametrize("name", cells(zip(NAMES, strict=True), always=zip(NAMES[::3], strict=True)))
def test_an_equation_scores_the_same_in_every_process(name: str, evaluate: Evaluate) -> None:
    assert evaluate(build(name, n_instance=1)) == evaluate(build(name, n_instance=1))


@pytest.mark.parametrize("name", NAMES)
def test_the_description_shows_the_arguments_the_score_and_some_observations(name: str) -> None:
    task = build(name, n_instance=1)

    assert "`params`" in task.objective
    assert "How it is scored" in task.objective
    assert "Some observations" in task.objective
    assert not task.evaluator.objective.startswith("Some observations")


@pytest.mark.parametrize("law", FORMULAS)
def test_every_formula_gives_finite_numbers_that_vary(law: str) -> None:
    data = build("science_discovery/feynman_srsd", law=law, n_instance=1).splits["test"][0].input[0].instance

    for values in (data.fit_targets, data.held_targets):
        assert np.all(np.isfinite(values))
        assert np.std(values) > 0


@pytest.mark.parametrize("number", one_in(4, range(1, len(MOTIONS) + 1)))
def test_every_motion_gives_bounded_paths_that_a_fit_of_the_law_predicts(number: int) -> None:
    evaluator = build("science_discovery/ode_1d", test_id=number, n_instance=1, n_train=1).evaluator
    data = next(iter(evaluator.batches("train")))[0]

    assert np.all(np.abs(data.held_targets) < 1e3)
    assert evaluator.bound(data) > 3


def test_an_unknown_formula_is_refused_with_the_nearest_one() -> None:
    with pytest.raises(ValidationError, match=r"Did you mean `I\.6\.20`"):
        FeynmanOptions(law="I.6.2O")


def test_the_measure_counts_correct_digits() -> None:
    truth = np.array([0.0, 1.0, 2.0, 3.0])

    assert nmse(truth - truth.mean(), truth) == pytest.approx(1)
    assert digits(1.0) == 0
    assert digits(1e-4) == pytest.approx(4)
    assert digits(0.0) == 12
    assert digits(nmse(np.full(4, 1e300), truth)) == -6


def test_the_fit_finds_the_constants_of_a_law_it_can_express() -> None:
    x = np.linspace(0, 3, 60)

    params = fitting.fit_points(lambda x, p: p[0] * np.exp(-p[1] * x), [x], 4.0 * np.exp(-0.7 * x), seed=1)

    assert params[:2] == pytest.approx([4.0, 0.7], rel=1e-6)


def program(body: str, *, head: str = "") -> str:
    return f"import numpy as np\n{head}\ndef equation(t, x, v, params):\n    {body}\n"


REFUSED = {
    "wrong name": ("def law(t, x, v, params):\n    return x\n", {"error", "invalid"}),
    "wrong signature": ("def equation(t, x, params):\n    return x\n", {"error"}),
    "syntax error": ("def equation(t, x, v, params)\n    return x\n", {"invalid"}),
    "wrong shape": (program("return np.zeros(3)"), {"error"}),
    "a matrix": (program("return np.outer(x, x)"), {"error"}),
    "a text": (program("return 'x'"), {"error"}),
    "nothing": (program("return None"), {"error"}),
    "complex numbers": (program("return x * 1j"), {"error"}),
    "not numbers": (program("return np.log(-np.abs(x) - 1)"), {"invalid"}),
    "infinite": (program("return x / 0 + params[0]"), {"invalid"}),
    "an exception": (program("raise RuntimeError('no')"), {"error"}),
    "endless loop": (program("while True: pass"), {"timeout"}),
    "endless recursion": (program("return equation(t, x, v, params)"), {"error"}),
    "ends its process": (program("__import__('os')._exit(0)"), {"error", "invalid"}),
    "reads the suite": (program(f"open({str(ROOT / 'science' / 'oscillator2.py')!r}).read(); return x"), {"invalid"}),
    "imports the suite": (program("import tracebench_llm4ad.science.oscillator2; return x"), {"error"}),
    "sorts its rows": (program("return np.sort(x)"), {"invalid"}),
    "differences its rows": (program("return np.gradient(v, np.argsort(t))"), {"invalid"}),
    "draws at random": (program("return np.random.default_rng().normal(size=len(x))"), {"invalid"}),
}


@pytest.mark.parametrize(("source", "statuses"), REFUSED.values(), ids=REFUSED)
def test_a_hostile_equation_gets_a_status_and_words_and_no_score(
    source: str, statuses: set[str], evaluate: Evaluate
) -> None:
    patience = (
        1.0 if "timeout" in statuses else 60.0
    )  # a busy machine takes its time for those who end by something else
    feedback = evaluate(build(SPRING, n_instance=1, timeout_seconds=patience), source)

    assert feedback.status in statuses
    assert "train-0.0" in feedback.text
    assert feedback.metrics == {}


def test_the_observations_that_are_fitted_never_reach_a_prediction(evaluate: Evaluate) -> None:
    peek = """
import sys
STOLEN = []

def peek():
    frame = sys._getframe()
    while frame is not None:
        if "targets" in frame.f_locals:
            STOLEN.append(np.array(frame.f_locals["targets"]))
        frame = frame.f_back
"""
    stolen = evaluate(
        build(SPRING, n_instance=1), program("peek(); return STOLEN[-1] if STOLEN else np.zeros(len(x))", head=peek)
    )
    nothing = evaluate(build(SPRING, n_instance=1), program("return np.zeros(len(x))"))

    assert stolen.metrics["nmse"] == nothing.metrics["nmse"]


def test_patching_the_fit_and_the_judge_earns_nothing(evaluate: Evaluate) -> None:
    head = """
import scipy.optimize
np.mean = np.var = lambda *a, **k: 1e-30
scipy.optimize.least_squares = lambda *a, **k: None
"""
    feedback = evaluate(build(SPRING, n_instance=1), program("return params[0] * x", head=head))

    assert feedback.status != "ok" or feedback.metrics["normalised"] < 0.5


def test_changing_the_arguments_changes_nothing(evaluate: Evaluate) -> None:
    task = build(SPRING, n_instance=1)
    honest = evaluate(task, program("return params[0] * x + params[1] * t"))
    vandal = evaluate(task, program("y = params[0] * x + params[1] * t; x[:] = 0; t[:] = 0; params[:] = 0; return y"))

    assert vandal == honest
    assert evaluate(task, program("return params[0] * x + params[1] * t")) == honest


def test_what_an_equation_remembers_of_earlier_calls_does_not_reach_a_prediction(evaluate: Evaluate) -> None:
    task = build(SPRING, n_instance=1)
    forgetful = evaluate(task, program("return x"))

    assert evaluate(task, program("SEEN.append(1); return x * len(SEEN)", head="SEEN = []")).score == forgetful.score
