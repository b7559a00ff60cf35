"""Searches that keep what is worse because it is different, and trainers that take turns."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from tests.toys import build_hills

from tracebench_core.contracts import Trainer
from tracebench_core.specs import Budget
from tracebench_core.specs.events import MetricLogged
from tracebench_opto.trainers import basic_search, map_elites, novelty, portfolio, sequence
from tracebench_testing import Teacher, Trial, run_trial
from tracebench_testing.toys import Toy, build_code, build_dials


def play(trainer: Trainer, toy: Toy, *, seed: int = 0, budget: Budget | None = None, improves: float = 0.5) -> Trial:
    trial = run_trial(
        trainer, toy, answer=Teacher(toy.lesson, improves=improves, harms=0.3, seed=seed), seed=seed, budget=budget
    )
    assert trial.error is None, trial.error
    return trial


def logged(trial: Trial, name: str) -> list[float]:
    return [e.value for e in trial.events if isinstance(e, MetricLogged) and e.name == name]


def test_elites_cross_a_valley_that_a_climber_does_not() -> None:
    climber = basic_search.build(basic_search.Settings(num_steps=30, num_proposals=1))
    elites = map_elites.build(map_elites.Settings(num_steps=30))
    best = [[play(t, build_hills(), seed=s).best.values["x"] for s in range(5)] for t in (elites, climber)]
    assert best[0].count(3.0) >= 4
    assert 3.0 not in best[1]


def test_every_kind_keeps_its_best_and_islands_share_only_who_migrates() -> None:
    alone, together = (
        play(map_elites.build(map_elites.Settings(num_steps=30, num_islands=3, migrate_every=every)), build_dials())
        for every in (0, 6)
    )
    assert alone.comparable() != together.comparable()
    assert max(logged(together, "elites")) > 1


def test_an_unknown_descriptor_is_refused() -> None:
    with pytest.raises(ValueError, match="is none of"):
        map_elites.Settings(descriptors=("colour",))


def test_the_same_program_in_other_words_is_not_evaluated() -> None:
    toy = build_code()
    codes = [
        "def transform(x):\n    return x  # again\n",
        "def transform(x):\n    return (x)\n",
        "def transform(x):\n    return x + 1\n",
    ]
    initial = toy.task.parameters[0].initial

    def answer(_prompt: str, call: int) -> str:
        return json.dumps({"values": {"code": codes[call % 3]}})

    trial = run_trial(novelty.build(novelty.Settings(num_steps=3, num_proposals=1)), toy, answer=answer)
    assert trial.error is None
    shapes = [novelty.shape(c.values) for c in trial.candidates]
    assert len(shapes) == len({*shapes})
    assert novelty.shape({"code": initial}) in shapes
    assert sum(logged(trial, "proposal_not_novel")) >= 1


def test_a_sequence_hands_over_after_a_share_and_goes_on_from_the_best() -> None:
    legs = (
        sequence.Leg(trainer="BasicSearch", params={"num_proposals": 1}, share=0.4),
        sequence.Leg(trainer="Minibatch"),
    )
    trial = play(sequence.build(sequence.Settings(legs=legs)), build_dials(), budget=Budget(evaluations=200))
    assert trial.spent == "evaluations"
    whole = Counter((e.candidate, e.example) for e in trial.evaluations if e.split == "validation")
    assert any(count > 1 for (candidate, _), count in whole.items() if candidate != "c0"), "the best is measured anew"


def test_a_trainer_without_finds_hands_over() -> None:
    legs = (
        sequence.Leg(trainer="BasicSearch", params={"num_proposals": 1}, patience=2),
        sequence.Leg(trainer="BasicSearch", params={"num_proposals": 1, "num_steps": 1}),
    )
    trial = play(sequence.build(sequence.Settings(legs=legs)), build_dials(), improves=0.0, budget=Budget(llm_calls=60))
    assert trial.spent is None
    assert len(trial.steps) <= 6


def test_turns_go_to_who_finds() -> None:
    assert portfolio.choose([0, 0], [0, 0], exploration=0.5) == 0
    assert portfolio.choose([1, 0], [0, 0], exploration=0.5) == 1
    assert portfolio.choose([3, 3], [0, 3], exploration=0.5) == 1
    assert portfolio.choose([9, 1], [5, 0], exploration=5.0) == 1


def test_a_portfolio_gives_every_trainer_a_turn() -> None:
    cfg = portfolio.Settings.model_validate(
        {"members": [{"trainer": "BasicSearch"}, {"trainer": "Minibatch"}], "num_turns": 4, "turn_steps": 2}
    )
    trial = play(portfolio.build(cfg), build_dials())
    turns = [max(logged(trial, f"portfolio_turns_{i}_{n}")) for i, n in enumerate(("BasicSearch", "Minibatch"))]
    assert sum(turns) == 4
    assert min(turns) >= 1
    assert len(trial.steps) == 8


@pytest.mark.parametrize("name", ["Sequence", "Portfolio", "Curriculum"])
def test_a_wrapper_wraps_no_wrapper(name: str) -> None:
    with pytest.raises(ValueError, match="wraps trainers itself"):
        sequence.Leg(trainer=name)
