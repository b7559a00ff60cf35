"""Adaptive learns which strategy pays, measures losers no further where evaluations are scarce, and leaves a hill that climbing cannot."""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.specs import Budget
from tracebench_core.specs.events import Decision
from tracebench_opto.trainers.adaptive import PRIORS, Settings, _is_behind, _Odds, build
from tracebench_testing.teacher import Teacher
from tracebench_testing.toys import build_dials, build_hills
from tracebench_testing.trials import Trial, run_trial


def run(toy: Any, budget: Budget, *, seed: int = 1, improves: float = 0.4, **settings: Any) -> Trial:
    teacher = Teacher(toy.lesson, improves=improves, harms=0.4, seed=seed)
    done = run_trial(build(Settings(**settings)), toy, answer=teacher, budget=budget, seed=seed)
    assert done.error is None
    return done


def test_what_pays_is_drawn_more_often_and_old_luck_is_forgotten() -> None:
    problem: Any = SimpleNamespace(rng=random.Random(0))
    odds = _Odds()
    for _ in range(12):
        odds.learn("climb", success=False)
        odds.learn("revive", success=True)
    drawn = [odds.draw(problem, ["climb", "revive"]) for _ in range(200)]
    assert drawn.count("revive") > 150
    for _ in range(80):
        odds.learn("wander", success=True)
    assert odds.counts["climb"] == pytest.approx(PRIORS["climb"], abs=0.01)


@pytest.mark.parametrize(
    ("gains", "behind"),
    [
        ([-1.0, -1.0, -0.5, -1.0], True),
        ([-1.0, 0.0, 0.0], True),
        ([-1.0, 1.0, -1.0, 1.0], False),
        ([0.0, 0.0, 0.0], False),
        ([-1.0, -1.0], False),
    ],
)
def test_behind_is_what_chance_does_not_explain(gains: list[float], behind: bool) -> None:
    assert _is_behind(gains) is behind


def test_losers_are_measured_no_further_where_evaluations_are_scarce() -> None:
    toy = build_dials(train=8, validation=32)
    scarce = run(toy, Budget(evaluations=400), improves=0.1)
    measured = Counter(e.candidate for e in scarce.evaluations)
    judged = [e.candidate for e in scarce.events if isinstance(e, Decision)]
    assert sum(measured[candidate] < 32 for candidate in judged) > len(judged) / 3
    assert scarce.gain() > 0


def test_it_leaves_a_hill_and_tells_why_it_took_whom() -> None:
    found = [run(build_hills(), Budget(llm_calls=60), seed=seed, doubt=2, patience=30) for seed in range(4)]
    assert sum(trial.score() == 1.0 for trial in found) >= 3
    words = {e.reason.partition(":")[0] for trial in found for e in trial.events if isinstance(e, Decision)}
    assert {"climb", "wander"} <= words
