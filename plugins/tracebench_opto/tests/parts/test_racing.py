"""Racing: who falls behind on a part of the examples is not measured on the rest, and chooses nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tracebench_core.contracts import Problem
from tracebench_core.specs import Budget
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.racing import RacingSettings, race, raced, rungs
from tracebench_opto.parts.search import Search
from tracebench_opto.trainers import basic_search, beam_search, priority_search
from tracebench_testing import Teacher, run_trial
from tracebench_testing.toys import build_dials

TOY = build_dials(parameters=2, train=16, validation=16)


@pytest.mark.parametrize(
    ("examples", "runners", "sizes"),
    [
        (16, 4, [4, 8, 16]),
        (16, 3, [4, 8, 16]),
        (16, 2, [8, 16]),
        (16, 1, [16]),
        (5, 12, [2, 3, 5]),
        (2, 9, [2]),
        (1, 3, [1]),
        (50, 8, [13, 25, 50]),
    ],
)
def test_every_rung_has_twice_the_examples_and_the_last_has_all(examples: int, runners: int, sizes: list[int]) -> None:
    assert rungs(examples, runners) == sizes


class Racer:
    """Let candidates race once, on values of our own."""

    def __init__(self, *dials: float) -> None:
        self.dials = dials
        self.left: list[Entry] = []

    def train(self, problem: Problem) -> None:
        search = Search(problem, RacingSettings())
        parent = search.seed()
        children = [problem.initial | {"dial_0": dial} for dial in self.dials]
        self.left = race(search, [(parent, children[:2]), (parent, children[2:])], search.selection, origin="propose")


def run(trainer: Any, **kwargs: Any) -> Any:
    return run_trial(trainer, TOY, answer=Teacher(TOY.lesson, seed=1), **kwargs)


def test_the_best_is_left_measured_on_all_and_the_worst_on_a_part() -> None:
    racer = Racer(0.2, 1.0, -5.0, 0.6)
    trial = run(racer)
    measured = Counter(e.candidate for e in trial.evaluations)

    assert [entry.candidate.values["dial_0"] for entry in racer.left] == [1.0]
    assert sorted(measured.values()) == [4, 4, 8, 16, 16]  # the last two are the best and the initial candidate


def test_candidates_that_are_level_go_on_together() -> None:
    racer = Racer(0.5, 1.5)
    trial = run(racer)
    assert [entry.candidate.values["dial_0"] for entry in racer.left] == [0.5, 1.5]
    assert sorted(Counter(e.candidate for e in trial.evaluations).values()) == [16, 16, 16]


def test_fewer_evaluations_are_expected_of_a_race() -> None:
    assert raced(RacingSettings(), examples=16, runners=4) == 4 * 4 + 2 * 4 + 1 * 8
    assert raced(RacingSettings(), examples=16, runners=5) == 5 * 4 + 3 * 4 + 2 * 8
    assert raced(RacingSettings(racing=False), examples=16, runners=4) == 64


@pytest.mark.parametrize(
    ("module", "settings"),
    [(priority_search, {}), (basic_search, {}), (beam_search, {"validation_dataset_size": None})],
    ids=["PrioritySearch", "BasicSearch", "BeamSearch"],
)
def test_a_search_that_races_tries_more_candidates_with_the_same_budget(module: Any, settings: dict[str, Any]) -> None:
    tried = []
    for racing in (False, True):
        built = module.build(module.Settings(racing=racing, **settings))
        trial = run(built, budget=Budget(evaluations=300))
        assert trial.error is None
        tried.append(len({e.candidate for e in trial.evaluations}))
    assert tried[1] > tried[0]


def test_scores_that_repeat_are_doubted_for_a_twentieth_of_the_evaluations_and_noisy_ones_in_every_step() -> None:
    repeats = []
    for noise in (0.0, 1.0):
        toy = build_dials(noise=noise)
        trainer = priority_search.build(priority_search.Settings())
        trial = run_trial(trainer, toy, answer=Teacher(toy.lesson, seed=1), budget=Budget(evaluations=300))
        counts = Counter((e.candidate, e.example) for e in trial.evaluations)
        repeats.append(sum(n - 1 for n in counts.values()))
    assert repeats[0] <= 300 / 20 + 4
    assert repeats[1] > 2 * repeats[0]
