"""What is told of a set of forgeries whose process ends, before one began and after."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_engine.api.checking import Finding, Skipped
from tracebench_testing.checks import calibration_checks
from tracebench_testing.checks.calibration_checks import believed, check_forgeries, try_set

DIED = {"error": "the process ended with exit code -9."}
BEGAN = {"begins": "closures"}


def told_of(monkeypatch: pytest.MonkeyPatch, *lines: dict[str, Any]) -> None:
    monkeypatch.setattr(calibration_checks, "ask_process", lambda *given, **more: [*lines])


@pytest.mark.parametrize("before", [[], [{"skipped": "no parameter is a function"}]])
def test_a_process_that_ends_before_a_forgery_began_is_not_beaten_by_one(
    before: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    told_of(monkeypatch, *before, DIED)

    told = try_set("some:task", {}, "ours", seconds=1.0)

    assert told == [*before, {"skipped": f"no forgery of `ours` was tried: {DIED['error']}"}]
    assert [words for line in told if (words := believed(line, 1.0))] == []


def test_a_process_that_ends_once_a_forgery_began_may_be_beaten_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    told_of(monkeypatch, BEGAN, DIED)

    told = try_set("some:task", {}, "ours", seconds=1.0)

    assert told == [BEGAN, DIED]
    assert believed(told[-1], 1.0).startswith(DIED["error"])


@pytest.mark.parametrize(("lines", "kind"), [([DIED], Skipped), ([BEGAN, DIED], Finding)])
def test_the_check_finds_only_what_a_forgery_can_have_done(
    lines: list[dict[str, Any]], kind: type, monkeypatch: pytest.MonkeyPatch
) -> None:
    told_of(monkeypatch, *lines)
    monkeypatch.setattr(calibration_checks, "_cases", lambda plugin, id_: ())
    spec: Any = SimpleNamespace(sandbox=(), timed=False, score_bounds=SimpleNamespace(maximum=1.0))
    plugin: Any = SimpleNamespace(ready_tasks={"some:task": spec}, options_of=lambda id_: {})

    [found] = check_forgeries(plugin)

    assert type(found) is kind
