"""What a foreign program may ask of its job's problem: asked here within a trial, without a program."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tracebench_core.contracts import Problem
from tracebench_core.specs import Budget
from tracebench_core.specs.events import Decision, MetricLogged, StepFinished, StepStarted
from tracebench_engine.door.calls import LONGEST_NAME, LONGEST_WORDS, DoorCalls
from tracebench_testing import run_trial
from tracebench_testing.toys import Toy, build_dials, build_number
from tracebench_testing.trials import Trial


class Asks:
    """A trainer that does what a foreign program does, and keeps what it saw."""

    def __init__(self, does: Callable[[DoorCalls], Any]) -> None:
        self._does = does
        self.saw: Any = None

    def train(self, problem: Problem) -> None:
        calls = DoorCalls(problem)
        self.saw = self._does(calls)
        calls.end_step()


def asked(does: Callable[[DoorCalls], Any], *, toy: Toy | None = None) -> tuple[Any, Trial]:
    """Return what was answered, as JSON tells it, and what came of the trial."""
    trainer = Asks(does)
    trial = run_trial(trainer, toy or build_number(), answer=lambda *_: "", budget=Budget(evaluations=50))
    assert trial.error is None
    return json.loads(json.dumps(trainer.saw)), trial


def test_a_program_is_told_all_but_the_references_of_validation() -> None:
    told, _ = asked(lambda calls: calls.describe(), toy=build_dials(parameters=2))

    assert {p["name"]: p["initial"] for p in told["parameters"]} == told["initial"]
    assert len(told["initial"]) == 2
    assert all(set(example) == {"id", "input", "reference"} for example in told["train"])
    assert told["validation"]
    assert all(set(example) == {"id", "input"} for example in told["validation"])


def test_what_it_evaluated_is_the_best_with_its_score_and_is_paid_for() -> None:
    def does(calls: DoorCalls) -> Any:
        name = calls.describe()["train"][0]["id"]
        worse, better = calls.call("evaluate", {"candidates": [{"x": 1}, {"x": 3}], "examples": [name]}, caller=1)
        return worse, better, calls.call("best", {}, caller=1), calls.call("budget", {}, caller=1)

    (worse, better, best, budget), _ = asked(does)
    assert better["score"] > worse["score"]
    assert [len(e["results"]) for e in (worse, better)] == [1, 1]
    assert (best["id"], best["values"], best["score"]) == (better["candidate"], {"x": 3}, better["score"])
    assert (budget["caps"]["evaluations"], budget["used"]["evaluations"]) == (50, 2)


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        ("describe", {}, "the door knows no `describe`"),
        ("evaluate", {"candidates": [{"x": 1}], "examples": ["none"]}, "`none` is no example"),
        ("evaluate", {"candidates": [], "origin": "a" * (LONGEST_WORDS + 1)}, "20,001 characters, more than 20,000"),
        ("evaluate", {"candidates": [], "parents": ["a" * (LONGEST_NAME + 1)]}, "201 characters, more than 200"),
        ("log", {"name": 1, "value": 1.0}, "a text is wanted, not int"),
        ("log", {"name": "a", "value": 10**400}, "`a` is no number that a float holds"),
    ],
)
def test_what_does_not_exist_or_is_too_long_is_refused_in_words(method: str, params: Any, words: str) -> None:
    def does(calls: DoorCalls) -> None:
        with pytest.raises((TypeError, ValueError), match=words):
            calls.call(method, params, caller=1)

    asked(does)


def test_texts_of_the_greatest_length_are_taken() -> None:
    def does(calls: DoorCalls) -> None:
        calls.call("log", {"name": "a" * LONGEST_NAME, "value": 2}, caller=1)
        reason = "b" * LONGEST_WORDS
        calls.call("decide", {"candidate": "c0", "verdict": "accepted", "reason": reason}, caller=1)

    _, trial = asked(does)
    assert [e.value for e in trial.events if isinstance(e, MetricLogged)] == [2.0]
    assert [len(e.reason) for e in trial.events if isinstance(e, Decision)] == [LONGEST_WORDS]


def test_a_step_ends_with_the_next_with_its_caller_or_when_it_is_ended() -> None:
    def does(calls: DoorCalls) -> list[int]:
        begun = [calls.call("step", {}, caller="one"), calls.call("step", {}, caller="two")]
        calls.hang_up("one")
        calls.call("log", {"name": "within", "value": 1}, caller="two")
        calls.hang_up("two")
        calls.call("log", {"name": "after", "value": 1}, caller="two")
        calls.end_step()
        return begun

    begun, trial = asked(does)
    assert begun == [0, 1]
    events = [e for e in trial.events if isinstance(e, StepStarted | StepFinished | MetricLogged)]
    steps = [event.kind if not isinstance(event, MetricLogged) else event.step for event in events]
    assert steps == ["step_started", "step_finished", "step_started", 1, "step_finished", None]


@pytest.mark.parametrize("value", [10**400, -(10**400), [[1]], None, {"x": 1}])
def test_a_value_that_may_not_be_evaluated_is_told_and_costs_the_job_nothing(value: Any) -> None:
    def does(calls: DoorCalls) -> Any:
        words = calls.call("check", {"values": {"x": value}}, caller=1)
        (found,) = calls.call("evaluate", {"candidates": [{"x": value}]}, caller=1)
        return words, found["status"], calls.call("evaluate", {"candidates": [{"x": 3}]}, caller=1)[0]["status"]

    (words, status, after), _ = asked(does)
    assert words.startswith("`x` must be a ")
    assert (status, after) == ("invalid", "ok")
