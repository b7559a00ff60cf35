"""What the conformance kit says of a task's card, and of two measurements that differ."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core.specs import SuiteSpec, TaskSpec
from tracebench_engine.api.checking import Finding
from tracebench_testing.checks.plugin import ask_process
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


@pytest.mark.parametrize(("name", "is_told"), [("Climb", False), ("Climb up", True), ("Cl\u00efmb", True)])
def test_the_name_of_a_part_is_looked_at_too(name: str, is_told: bool) -> None:
    plugin: Any = SimpleNamespace(
        name="mine",
        host=SimpleNamespace(suite=lambda _: None),
        tasks={},
        parts=lambda kind: (name,) if kind == "trainer" else (),
    )
    found = [f"{f.code} {f.subject}" for f in check_card(plugin) if isinstance(f, Finding)]
    assert found == ([f"TB104 trainer {name}"] if is_told else [])


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("print('{\"a\": 1}')", [{"a": 1}]),
        ("pass", [{"error": "the process said nothing"}]),
        (
            "print('{\"a\": 1}'); raise SystemExit('no rows')",
            [{"a": 1}, {"error": "the process ended with exit code 1. no rows"}],
        ),
        ("import os; os.kill(os.getpid(), 9)", [{"error": "the process ended with exit code -9."}]),
    ],
)
def test_what_another_process_says_and_how_it_ended_is_told(
    program: str, told: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "says_so.py").write_text(program)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    assert ask_process([], seconds=30, module="says_so") == told
