"""What trackers are told of a job's events, and that what was not measured is left out."""

from __future__ import annotations

from tracebench_core.specs import Budget, BudgetState, ModelIdentity
from tracebench_core.specs.events import BestChanged, JobFinished, JobStarted, Scored, StepFinished
from tracebench_trackers.readings import Configured, Ended, Numbers, readings

USED = BudgetState(evaluations=12, llm_calls=3, tokens=456)


def test_a_step_stands_at_its_number_and_without_a_score_says_none() -> None:
    [numbers] = readings(StepFinished(index=4, score=None, best=0.5, seconds=1.5, used=USED))
    assert isinstance(numbers, Numbers)
    assert (numbers.at, numbers.axis) == (4, "step")
    assert numbers.values["step/best"] == 0.5
    assert numbers.values["used/evaluations"] == 12
    assert "step/score" not in numbers.values


def test_a_best_stands_on_every_axis_of_the_budget() -> None:
    found = [*readings(BestChanged(candidate="c", score=0.5, used=USED))]
    assert [(n.axis, n.at) for n in found if isinstance(n, Numbers)] == [
        ("evaluations", 12),
        ("llm_calls", 3),
        ("tokens", 456),
    ]


def test_the_configuration_is_flat_text() -> None:
    event = JobStarted(
        job_id="j",
        task="s:t",
        trainer="X",
        label="mine",
        models={"optimizer": ModelIdentity(provider="openai", model="small")},
        params={"a": {"b": 1}},
        seed=3,
        budget=Budget(evaluations=5),
        mode="stub",
        versions={"core": "1"},
    )
    [configured] = readings(event)
    assert isinstance(configured, Configured)
    assert configured.name == "mine on s:t, seed 3"
    assert {
        "llm.optimizer.model": "small",
        "llm.optimizer.provider": "openai",
        "settings.a.b": "1",
        "budget.evaluations": "5",
        "seed": "3",
        "versions.core": "1",
    }.items() <= configured.values.items()


def test_a_score_that_is_not_known_is_no_number_and_the_end_is_told() -> None:
    [score] = readings(Scored(what="best", split="test", candidate="c", score=None, metrics={}))
    assert isinstance(score, Numbers)
    assert score.values == {}
    total, ended = readings(JobFinished(status="failed", stop_reason="error", used=USED, seconds=2.0))
    assert isinstance(total, Numbers)
    assert total.values["total/tokens"] == 456
    assert ended == Ended("failed", "error")
