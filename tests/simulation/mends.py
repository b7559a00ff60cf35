"""Defences of the runner that a simulation must miss when they are taken back, each as it was before the fault was known."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest

from tracebench_core import averages
from tracebench_engine.measure.scored_before import ScoredBefore
from tracebench_engine.run import runner, underway
from tracebench_engine.run.local import executor, process
from tracebench_engine.run.trainings import Trainings
from tracebench_runs.check import recovery
from tracebench_runs.journal import witness
from tracebench_runs.journal.journal import Journal


def any_value(patch: pytest.MonkeyPatch) -> None:
    """A score near the limits of floats ends the run: sums overflow, and nothing guards the conclusion of a job."""

    def mean(figures: Sequence[float]) -> float:
        return math.fsum(figures) / len(figures)

    def broken(self: Any, job: Any, error: Exception) -> Any:
        raise error

    patch.setattr(averages, "mean", mean)
    patch.setattr(runner.Runner, "_broken", broken)


def scoring_again(patch: pytest.MonkeyPatch) -> None:
    """A scoring that dies leaves its job `ok`, without a score."""
    conclude = runner.conclude_lost

    def conclude_lost(*given: Any, is_scoring: bool = False, **named: Any) -> Any:
        return conclude(*given, **named)

    patch.setattr(Trainings, "is_scored_again", lambda self, end: False)
    patch.setattr(runner, "conclude_lost", conclude_lost)


def deadlines(patch: pytest.MonkeyPatch) -> None:
    """The runner waits for its template for as long as that takes."""
    patch.setattr(process, "LIFELESS", math.inf)
    patch.setattr(process, "STARTING", math.inf)
    patch.setattr(process, "CLOSING", math.inf)


def journal_gone(patch: pytest.MonkeyPatch) -> None:
    """A run whose journal is gone is repaired and resumed from its events, whoever wrote them."""
    patch.setattr(witness, "is_lost", lambda layout, *, trust: False)
    patch.setattr(witness, "losses", lambda layout, *, trust: iter(()))
    for module in _users("speaks_against"):
        patch.setattr(module, "speaks_against", lambda layout, *, trust: False)
    for module in _users("vouches_for_events"):
        patch.setattr(module, "vouches_for_events", lambda layout, *, trust: True)


def told_once(patch: pytest.MonkeyPatch) -> None:
    """An end that is told again is taken for another one."""
    patch.setattr(underway.Underway, "is_news", lambda self, end: True)

    def hear(self: Any) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = self.wire.receive(timeout=0.0)
        for message in messages:
            self._pid = message.get("ready", self._pid)
        return [message for message in messages if message.get("exit") in process.ENDS and len(str(message["end"])) > 1]

    patch.setattr(process._Line, "hear", hear)


def measured_once(patch: pytest.MonkeyPatch) -> None:
    """A scoring measures again what the one before it, which was cut short, had kept."""
    patch.setattr(ScoredBefore, "find", lambda self, key: None)


def deaths_are_no_measurements(patch: pytest.MonkeyPatch) -> None:
    """What a job measured while a server died under it is kept for its next scoring."""
    patch.setattr(underway, "files", SimpleNamespace(remove=lambda path: None))


def measurements_are_signed(patch: pytest.MonkeyPatch) -> None:
    """What a process that trains leaves as measurements of its scoring is believed."""
    patch.setattr(ScoredBefore, "_mac", lambda self, key, told: "")


def only_its_runner_knows(patch: pytest.MonkeyPatch) -> None:
    """A result that no runner declared is adopted, though servers died under it and took that knowledge with the runner."""
    begin = Journal.job_started

    def job_started(self: Journal, job_id: str, *, leans: bool, **more: Any) -> None:
        begin(self, job_id, **more)

    patch.setattr(Journal, "job_started", job_started)


def numbers_of_their_own(patch: pytest.MonkeyPatch) -> None:
    """Each template counts its starts from one, so that two of them give a job the same number."""

    def anew(*given: Any, numbers: object, **named: Any) -> Any:
        return process.TemplateProcess(*given, numbers=count(1), **named)

    patch.setattr(executor, "TemplateProcess", anew)


def taken_after_all(patch: pytest.MonkeyPatch) -> None:
    """What a job measured is taken after so many breaks, though its server died once more."""
    patch.setattr(underway.Breaks, "give_up", lambda self, end, trainings: end)


def _users(name: str) -> list[Any]:
    from tracebench_runs.check import checks, fsck

    return [module for module in (witness, recovery, checks, fsck) if hasattr(module, name)]


MENDS: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    "any value": any_value,
    "scoring again": scoring_again,
    "deadlines": deadlines,
    "journal gone": journal_gone,
    "told once": told_once,
    "measured once": measured_once,
    "deaths are no measurements": deaths_are_no_measurements,
    "measurements are signed": measurements_are_signed,
    "only its runner knows": only_its_runner_knows,
}
SIGNS = {
    "any value": "OverflowError",
    "scoring again": "ok without a score",
    "deadlines": "never ends",
    "journal gone": "forged score",
    "told once": "KeyError",
    "measured once": "again, which was kept",
    "deaths are no measurements": "-7.0",
    "measurements are signed": "99.0",
    "only its runner knows": "-7.0",
}
"""What is told of the first schedule that misses each."""
