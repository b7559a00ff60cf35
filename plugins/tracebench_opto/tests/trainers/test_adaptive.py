"""Adaptive learns which strategy pays, measures losers no further where evaluations are scarce, and leaves a hill that climbing cannot."""

from __future__ import annotations

import json
import random
from collections import Counter
from types import SimpleNamespace
from typing import Any

import pytest
from tests.toys import build_hills

from tracebench_core.specs import Budget
from tracebench_core.specs.events import Decision
from tracebench_opto.trainers.adaptive import PRIORS, Settings, _is_behind, _Odds, build
from tracebench_testing.teacher import Teacher
from tracebench_testing.toys import build_dials
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
        odds.learn("wander", success=True)
    drawn = [odds.draw(problem, ["climb", "wander"]) for _ in range(200)]
    assert drawn.count("wander") > 150
    for _ in range(80):
        odds.learn("wander", success=False)
    won, lost = odds.counts["wander"]
    assert (won, lost) == pytest.approx((PRIORS["wander"][0], PRIORS["wander"][1] + 10), abs=0.01)


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
    found = [run(build_hills(), Budget(llm_calls=60), seed=seed, patience=3, changes=0) for seed in range(4)]
    assert sum(trial.score() == 1.0 for trial in found) >= 3
    words = {e.reason.partition(":")[0] for trial in found for e in trial.events if isinstance(e, Decision)}
    assert {"climb", "wander"} <= words


def reasons(trial: Trial) -> list[str]:
    return [e.reason.partition(":")[0] for e in trial.events if isinstance(e, Decision)]


def spoil(_prompt: str, call: int) -> str:
    """Answer with what is worse than anything before."""
    return json.dumps({"reasoning": "none", "values": {"dial_0": -10.0 - call}})


def test_a_walk_that_leads_nowhere_makes_the_next_one_longer() -> None:
    trainer = build(Settings(patience=2, walk=2, changes=0))
    trial = run_trial(trainer, build_dials(), answer=spoil, budget=Budget(llm_calls=60), seed=1)
    parents = {c.id: c.parents for c in trial.candidates}
    way = [e.candidate for e in trial.events if isinstance(e, Decision) and e.reason.startswith("wander")]
    ends = [len(way[: i + 1]) for i, after in enumerate(way[1:]) if parents[after] != (way[i],)]
    assert ends[:2] == [2, 2 + 4]
    assert ends[2:3] in ([], [2 + 4 + 8])
    assert "wander" not in reasons(run(build_dials(), Budget(llm_calls=40), improves=0.0, patience=2, walk=0))


def test_evaluations_to_spare_go_into_changes_that_ask_no_model() -> None:
    toy = build_dials(train=8, validation=8)
    rich, poor = Budget(llm_calls=10, evaluations=400), Budget(llm_calls=10, evaluations=110)
    assert "change" in reasons(run(toy, rich))
    assert run(toy, rich).used.llm_calls == 10
    assert "change" not in reasons(run(toy, poor))
    assert "change" not in reasons(run(toy, rich, changes=0))
    assert "change" not in reasons(run(toy, Budget(evaluations=400)))  # nothing says that calls are what is scarce


def test_what_leads_is_measured_again_only_with_evaluations_to_spare() -> None:
    toy = build_dials(train=8, validation=8, noise=0.2)

    def repeats(evaluations: int) -> int:
        trial = run(toy, Budget(llm_calls=10, evaluations=evaluations), changes=0)
        seen = Counter((e.candidate, e.example) for e in trial.evaluations)
        return sum(count - 1 for count in seen.values())

    assert repeats(800) > 10
    assert run(toy, Budget(llm_calls=10, evaluations=110), changes=0).used.llm_calls >= 9
