"""Annealing: worse candidates are taken, less and less, so that a valley can be crossed."""

from __future__ import annotations

import random

from tests.toys import build_hills

from tracebench_core.specs import Budget, Values
from tracebench_core.specs.events import Decision
from tracebench_opto.trainers import anneal, basic_search
from tracebench_testing import Teacher, Trial, run_trial
from tracebench_testing.teacher import Lesson
from tracebench_testing.toys import build_dials


def run(seed: int, *, temperature: float = 2.0, steps: int = 30) -> Trial:
    toy = build_hills()
    trainer = anneal.build(anneal.Settings(temperature=temperature, num_steps=steps))
    return run_trial(trainer, toy, answer=Teacher(toy.lesson, improves=0.5, harms=0.3, seed=seed), seed=seed)


def taken_though_worse(trial: Trial) -> list[int]:
    """Return the places, among all decisions, of those that took a worse candidate."""
    decisions = [event for event in trial.events if isinstance(event, Decision)]
    return [
        place
        for place, event in enumerate(decisions)
        if event.verdict == "accepted" and "probability 1" not in event.reason
    ]


def test_a_valley_is_crossed_that_a_climber_stays_before() -> None:
    assert sum(run(seed).best.values["x"] == 3.0 for seed in range(8)) >= 6
    toy = build_hills()
    for seed in range(8):
        climber = basic_search.build(basic_search.Settings(num_steps=30, num_proposals=1))
        trial = run_trial(climber, toy, answer=Teacher(toy.lesson, improves=0.5, harms=0.3, seed=seed), seed=seed)
        assert trial.best.values["x"] == 0.0


def test_a_cold_search_takes_nothing_worse() -> None:
    trials = [run(seed, temperature=1e-9) for seed in range(4)]
    assert not any(taken_though_worse(trial) for trial in trials)


def test_every_move_is_on_record_with_its_probability() -> None:
    decisions = [event for event in run(0).events if isinstance(event, Decision)]
    assert decisions
    assert all("taken with probability" in event.reason for event in decisions)


def test_a_budget_ends_it_like_any_search() -> None:
    toy = build_hills()
    trainer = anneal.build(anneal.Settings())
    trial = run_trial(
        trainer, toy, answer=Teacher(toy.lesson, seed=random.Random(1).randrange(99)), budget=Budget(evaluations=12)
    )
    assert trial.error is None
    assert trial.used.evaluations <= 12


def test_after_its_patience_it_goes_on_from_the_best_and_not_from_where_it_strayed() -> None:
    """Every child is worse and, so hot, taken; but for the patience each would descend from the one before it."""
    toy = build_dials(parameters=1, train=2, validation=2)

    def harm(values: Values, rng: random.Random) -> Values:
        return {"dial_0": float(values["dial_0"]) - 1 - rng.random()}  # type: ignore[arg-type]  # a number of the toy

    trainer = anneal.build(anneal.Settings(temperature=1e9, patience=3, num_steps=7))
    trial = run_trial(trainer, toy, answer=Teacher(Lesson(harm, harm), improves=1.0, seed=1), seed=1)

    parents = {seen.id: seen.parents for seen in trial.candidates}
    start, *children = parents
    ends = [start, *children[:2], start, *children[3:5], start]  # three steps away, and back
    assert [parents[child] for child in children] == [(end,) for end in ends]
    assert trial.best.id == start
