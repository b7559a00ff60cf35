"""What the conformance kit says of a task's card, and of two measurements that differ."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.specs import SuiteSpec, TaskSpec
from tracebench_engine.api.checking import Finding
from tracebench_testing.checks.plugin_checks import check_card
from tracebench_testing.checks.task_checks import _difference, compared

ONE = {"a": {"status": "ok", "score": 1.0, "metrics": {"length": 3.0}}}


def told(task: TaskSpec, suite: SuiteSpec | None = None) -> list[str]:
    plugin: Any = SimpleNamespace(
        name="mine", host=SimpleNamespace(suite=lambda _: suite), tasks={"mine:t": task}, parts=lambda _: ()
    )
    return [f"{found.code} {found.message}" for found in check_card(plugin) if isinstance(found, Finding)]


def card(**fields: Any) -> TaskSpec:
    return TaskSpec(**{"name": "t", "loader": "mine:T", "title": "Sums", "licence": "MIT", **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, []),
        ({"title": " ", "licence": ""}, ["TB104 it has no title, no licence"]),
        ({"source": "https://elsewhere.example"}, ["TB104 it has no citation"]),
        ({"source": "https://elsewhere.example", "citation": "Me, 2020"}, []),
        ({"title": "", "licence": "", "broken": "its file cannot be read"}, []),  # that is said elsewhere
    ],
)
def test_a_card_says_what_a_task_is(fields: dict[str, Any], words: list[str]) -> None:
    assert told(card(**fields)) == words


def test_a_suite_says_it_for_its_tasks() -> None:
    suite = SuiteSpec(title="Mine", licence="MIT", citation="Me, 2020")
    assert told(card(licence="", source="https://elsewhere.example"), suite) == []


def test_two_measurements_differ_in_what_is_named_with_both_values() -> None:
    other = {"a": {**ONE["a"], "score": 0.5}}
    assert _difference(ONE, other) == "a: score 1.0 and 0.5"
    assert _difference(ONE, {}) == "a: status ok and None"
    assert _difference(ONE, {**ONE, "b": ONE["a"]}) == "other examples"


def test_what_a_task_does_not_declare_may_differ() -> None:
    feedback = {"status": "ok", "score": 1.0, "metrics": {"length": 3.0, "seconds": 0.1}, "text": "fine"}
    assert compared(feedback, {"length"}) == ONE["a"]
