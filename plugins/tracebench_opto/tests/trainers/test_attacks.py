"""Hostile fields: nothing to be gained, nothing valid, nothing finite, and caps in the middle of everything."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from tests.toys import build_trade_off

from tracebench_core.contracts import Trainer
from tracebench_core.plugins import load_ref
from tracebench_core.specs import Budget, Example, Feedback, Objective, Parameter
from tracebench_core.specs.events import Scored
from tracebench_engine.builtin.tasks.simple import SimpleTask
from tracebench_opto.trainers.specs import TRAINER_SPECS
from tracebench_testing import Teacher, Trial, run_trial
from tracebench_testing.teacher import Lesson
from tracebench_testing.toys import Toy, build_dials

NAMES = ("MapElites", "Novelty", "Anneal", "Sequence", "Portfolio", "TextualGradients")
EVERY = pytest.mark.parametrize("name", NAMES)


def build(name: str) -> Trainer:
    spec = next(s for s in TRAINER_SPECS if s.name == name)
    settings = load_ref(spec.settings, owner=name)
    trainer: Trainer = load_ref(spec.loader, owner=name)(settings())
    return trainer


def toy(guide: Callable[[Example, float], Feedback], *, objectives: tuple[Objective, ...] = (), **fields: Any) -> Toy:
    task = SimpleTask(
        parameters=[Parameter(name="x", initial=0.0, kind="number", minimum=-9, maximum=9)],
        objective="Raise the score.",
        program=lambda values, _example, _context: float(values["x"]),  # type: ignore[arg-type]  # kind `number`
        guide=lambda example, output, _context: guide(example, output),
        splits={split: [Example(id=f"{split}-{i}") for i in range(3)] for split in ("train", "validation")},
    )
    move = lambda values, rng: values | {"x": round(rng.uniform(-9, 9), 3)}  # noqa: E731
    return Toy("attack", task, Lesson(move, move), target=0.0, objectives=objectives, **fields)


def play(name: str, field: Toy, *, budget: Budget | None = None, answer: Any = None, seed: int = 0) -> Trial:
    teacher = Teacher(field.lesson, improves=0.5, harms=0.4, seed=seed)
    return run_trial(build(name), field, answer=answer or teacher, budget=budget, seed=seed)


def sound(trial: Trial) -> Trial:
    assert trial.error is None, trial.error
    assert any(isinstance(e, Scored) and e.what == "best" for e in trial.events)
    return trial


@EVERY
def test_equal_scores_everywhere(name: str) -> None:
    trial = sound(play(name, toy(lambda *_: Feedback(score=0.25)), budget=Budget(evaluations=60, llm_calls=60)))
    assert trial.best.id == "c0", "among equals the initial candidate stays"


@EVERY
def test_nothing_but_the_initial_candidate_is_valid(name: str) -> None:
    def guide(_example: Example, x: float) -> Feedback:
        return Feedback(score=1.0) if x == 0.0 else Feedback(score=0.0, status="invalid", text="no")

    for worst in (None, 0.0):
        field = toy(guide, worst_score=worst)
        assert sound(play(name, field, budget=Budget(evaluations=60, llm_calls=60))).best.id == "c0"


@EVERY
def test_every_candidate_but_the_initial_one_raises(name: str) -> None:
    def guide(_example: Example, x: float) -> Feedback:
        if x:
            raise ZeroDivisionError("x")
        return Feedback(score=1.0)

    field = toy(guide, worst_score=0.0)
    assert sound(play(name, field, budget=Budget(evaluations=60, llm_calls=60))).best.id == "c0"


@EVERY
@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_metrics_that_are_no_numbers(name: str, bad: float) -> None:
    def guide(_example: Example, x: float) -> Feedback:
        return Feedback(score=-abs(x - 3), metrics={"left": bad if x > 0 else abs(x), "right": abs(x - 1)})

    objectives = tuple(Objective(metric=m, direction="minimize") for m in ("left", "right"))
    trial = play(name, toy(guide, objectives=objectives), budget=Budget(evaluations=60, llm_calls=60))
    assert trial.error is None, trial.error


@EVERY
def test_metrics_that_some_candidates_lack(name: str) -> None:
    def guide(_example: Example, x: float) -> Feedback:
        return Feedback(score=-abs(x - 3), metrics={"left": abs(x)} if x < 0 else {})

    objectives = tuple(Objective(metric=m, direction="minimize") for m in ("left", "right"))
    trial = play(name, toy(guide, objectives=objectives), budget=Budget(evaluations=60, llm_calls=60))
    assert trial.error is None, trial.error


@EVERY
@pytest.mark.parametrize("evaluations", [1, 5, 16])
def test_a_cap_in_the_middle_of_anything(name: str, evaluations: int) -> None:
    trial = sound(play(name, build_dials(), budget=Budget(evaluations=evaluations)))
    assert (trial.spent, trial.used.evaluations) == ("evaluations", evaluations)


@EVERY
@pytest.mark.parametrize("calls", [0, 3])
def test_a_cap_on_calls(name: str, calls: int) -> None:
    trial = sound(play(name, build_dials(), budget=Budget(llm_calls=calls)))
    assert trial.used.llm_calls == calls


@EVERY
@pytest.mark.parametrize(
    "reply",
    ["", "{}", '{"values": {"x": NaN}}', '{"values": {"x": null, "y": 1}}', "x" * 5000],
)
def test_replies_of_which_nothing_can_be_used(name: str, reply: str) -> None:
    field = toy(lambda _example, x: Feedback(score=x))
    trial = sound(play(name, field, budget=Budget(llm_calls=40), answer=lambda _prompt, _call: reply))
    assert trial.best.id == "c0"


@EVERY
def test_one_value_again_and_again(name: str) -> None:
    field = toy(lambda _example, x: Feedback(score=x))
    trial = sound(play(name, field, budget=Budget(llm_calls=40), answer=lambda *_: json.dumps({"values": {"x": 1.0}})))
    assert trial.best.values == {"x": 1.0}
    assert len(trial.candidates) == 2


@EVERY
def test_two_objectives(name: str) -> None:
    assert sound(play(name, build_trade_off(), budget=Budget(evaluations=40))).gain() >= 0


@EVERY
def test_workers_change_nothing(name: str) -> None:
    field = build_dials()
    trials = [
        run_trial(
            build(name), field, answer=Teacher(field.lesson, seed=1), budget=Budget(evaluations=60), seed=1, workers=w
        )
        for w in (1, 3)
    ]
    assert trials[0].comparable() == trials[1].comparable()
