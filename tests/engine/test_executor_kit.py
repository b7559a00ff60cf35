"""The kit finds an executor sound that is, and each broken promise by the check that asks for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.engine import broken_executors

from tracebench_testing import PluginUnderTest, check_plugin

PROMISES = ("TB444", "TB445", "TB446", "TB447")
BROKEN = [
    ("OneAtATime", "TB444", "no more than 1 of the jobs run at the same time"),
    ("OneTooMany", "TB444", "takes an order while 2 jobs run"),
    ("TakesAhead", "TB444", "takes an order while 2 jobs run"),
    ("EndsWhereItIsHeld", "TB444", "After an order of None"),
    ("TellsTwice", "TB444", "whose end it has told already"),
    ("NeverScores", "TB444", "never scored"),
    ("CancelsNothing", "TB445", "`cancel` of a job that runs does not end it"),
    ("ForgetsWhoWaits", "TB445", "`cancel` of a job that waits does not end it"),
    ("CancelsAll", "TB445", "`cancel` of one job ends another"),
    ("LeavesItsJobs", "TB446", "is still there after it was closed"),
    ("Outlived", "TB446", "killed by SIGKILL"),
    ("CallsLostDead", "TB447", "ends as `died`, not `lost`"),
    ("ForgetsLost", "TB447", "tells no end of a job whose holder was killed"),
]
pytestmark = pytest.mark.heavy("executor")


@pytest.fixture
def kind(install_plugin: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Callable[[str], PluginUnderTest]:
    """Return one of the executors as a plugin under test."""
    install_plugin("broken", Path(broken_executors.__file__).read_text())

    def of(name: str) -> PluginUnderTest:
        return PluginUnderTest("broken", only=(name,))

    return of


def test_a_sound_executor_keeps_every_promise(kind: Callable[[str], PluginUnderTest]) -> None:
    outcomes = [*check_plugin(kind("Sound"), codes=[*PROMISES, "TB448"])]

    assert [o.check.code for o in outcomes] == [*PROMISES, "TB448"]
    assert [finding for outcome in outcomes for finding in outcome.findings] == []


@pytest.mark.parametrize(("name", "code", "words"), BROKEN, ids=[name for name, _, _ in BROKEN])
def test_a_broken_promise_is_found_by_its_check(
    kind: Callable[[str], PluginUnderTest], monkeypatch: pytest.MonkeyPatch, name: str, code: str, words: str
) -> None:
    monkeypatch.setenv("TRACEBENCH_KIT_PATIENCE", "15")
    (outcome,) = check_plugin(kind(name), codes=[code])

    assert words.lower() in "; ".join(finding.message for finding in outcome.findings).lower()
