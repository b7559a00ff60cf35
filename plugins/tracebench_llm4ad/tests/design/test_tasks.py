"""Every task: its starting program scores, a known heuristic does no worse, splits are disjoint, results repeat."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tracebench_core.specs import Feedback
from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.code_task import NUMPY_PRELUDE, CodeTask, normalise, signature_of
from tracebench_llm4ad.heuristic import load_trusted

Evaluate = Callable[..., Feedback]


def fingerprint(instance: Any) -> str:
    return hashlib.sha256(pickle.dumps(instance)).hexdigest()


def test_the_starting_program_scores_and_is_the_zero_of_the_scale(task: CodeTask, evaluate: Evaluate) -> None:
    for split in ("train", "validation", "test"):
        for example in task.splits[split]:
            feedback = evaluate(task, example=example)
            assert feedback.status == "ok", feedback.text
            assert feedback.metrics["normalised"] == pytest.approx(0.0, abs=1e-12)


def test_the_score_is_the_native_metric_with_its_sign_turned(task: CodeTask, evaluate: Evaluate) -> None:
    feedback = evaluate(task)
    sign = 1 if task.spec.direction == "maximize" else -1
    assert feedback.score == sign * feedback.metrics[task.spec.metric]
    assert {objective.metric for objective in task.spec.objectives} <= set(feedback.metrics)


def test_a_known_heuristic_scores_between_the_start_and_the_bound(task: CodeTask, evaluate: Evaluate) -> None:
    examples = [*task.splits["train"], *task.splits["test"]]
    scale = [
        evaluate(task, load_baseline(task.spec.name), example=example).metrics["normalised"] for example in examples
    ]
    assert sum(scale) >= 0
    assert max(scale) <= 1 + 1e-9


def test_no_instance_is_in_two_splits(task: CodeTask) -> None:
    seen = [
        fingerprint(case.instance)
        for examples in task.splits.values()
        for example in examples
        for case in example.input
    ]
    ids = [example.id for examples in task.splits.values() for example in examples]
    assert len(set(seen)) == len(seen)
    assert len(set(ids)) == len(ids)


def test_equal_seeds_give_equal_instances_and_scores(task: CodeTask, evaluate: Evaluate) -> None:
    again = type(task)(task.evaluator)
    for mine, other in zip(task.splits["train"], again.splits["train"], strict=True):
        assert [fingerprint(c.instance) for c in mine.input] == [fingerprint(c.instance) for c in other.input]
    first, second = evaluate(task, load_baseline(task.spec.name)), evaluate(again, load_baseline(task.spec.name))
    assert first.score == second.score


def test_another_seed_gives_other_instances(build: Any) -> None:
    drawn = [
        fingerprint(build("optimization/tsp_construct", seed=s, n_train=1).splits["train"][0].input) for s in (1, 2)
    ]
    assert drawn[0] != drawn[1]


def test_a_simulation_gives_the_same_in_this_process_and_in_the_sandbox(task: CodeTask, evaluate: Evaluate) -> None:
    baseline = load_baseline(task.spec.name)
    example = task.splits["train"][0]
    trusted = load_trusted(baseline, task.evaluator.entry, prelude=NUMPY_PRELUDE)
    solutions = [task.evaluator.solve(case.instance, trusted) for case in example.input]
    assert task.guide(example, solutions, None).score == evaluate(task, baseline).score


def test_the_description_names_every_argument_and_the_score(task: CodeTask) -> None:
    program, entry = task.evaluator.program, task.evaluator.entry
    arguments = signature_of(program, entry).partition("(")[2].rpartition(")")[0]
    for argument in arguments.split(", "):
        name = argument.partition(":")[0]
        if name.isidentifier():
            assert f"`{name}`" in task.objective or f"{name}," in task.objective
    assert "Score:" in task.objective
    assert str(task.parameters[0].signature).removesuffix(":") in task.objective
    assert len(task.objective) > 900


def test_feedback_names_the_worst_instance_with_its_numbers(task: CodeTask, evaluate: Evaluate) -> None:
    text = evaluate(task).text
    example = task.splits["train"][0]
    assert any(f"`{case.name}`" in text for case in example.input)
    assert "The starting program has" in text
    assert task.evaluator.bound_source in text
    if len(example.input) > 1:
        assert "Worst instance" in text


@pytest.mark.parametrize("options", [{"size": "ranking"}, {"n_facilities": 200}, {"n_customers": 2}, {"slack": 1.2}])
def test_customers_find_room_in_their_order_however_many_the_facilities(options: dict[str, Any], build: Any) -> None:
    task = build(
        "optimization/cflp_construct", **{"n_train": 1, "n_validation": 1, "n_test": 1, "n_instance": 4} | options
    )
    for examples in task.splits.values():
        for example in examples:
            for case in example.input:
                assert task.anchors(case).start >= task.anchors(case).bound


def test_a_scale_without_room_counts_the_shortfall() -> None:
    assert normalise(5, start=5, bound=5) == 1
    assert normalise(6, start=5, bound=5) == pytest.approx(0.8)
    assert normalise(8, start=10, bound=5) == pytest.approx(0.4)
