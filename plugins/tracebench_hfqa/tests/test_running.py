"""A program is called by its tests, each side in a process of its own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tracebench_hfqa import running
from tracebench_hfqa.families.family import Case
from tracebench_sandbox.client import open_sandbox


@pytest.mark.parametrize(
    ("calls", "score", "rule"),
    [(3, 1.0, ""), (4, 0.0, "The tests made more than 3 calls."), (0, 0.0, "The tests never called the function.")],
)
def test_tests_call_a_program_as_often_as_is_allowed(
    monkeypatch: pytest.MonkeyPatch, calls: int, score: float, rule: str
) -> None:
    monkeypatch.setattr(running, "MOST_CALLS", 3)
    tests = f"for n in range({calls}):\n    assert same(n) == n"
    case = Case(question="", gold="", extra={"entry": "same", "tests": tests, "setup": ""})
    with open_sandbox() as sandbox:
        job = SimpleNamespace(sandbox=sandbox)
        verdict = running.run_tests("def same(n):\n    return n", case, job, seconds=60.0)  # type: ignore[arg-type]
    assert (verdict.score, verdict.rule) == (score, rule)
