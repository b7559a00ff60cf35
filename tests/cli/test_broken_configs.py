"""Every broken config is told in full: file, line, field, the nearest name, and a command that helps."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.broken_configs import ASKED, Told, cases, tell, works
from tests.kept.configs import said
from tests.kept.store import changes
from tests.whole import HEAVY, SOAK

from tracebench_engine.builtin.hosting import open_host

ENOUGH = 150
PARTS = 4


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Told]:
    host, folder = open_host(), tmp_path_factory.mktemp("broken")
    return [tell(case, folder, host) for case in cases()]


def test_there_are_enough_and_each_is_another_one(told: list[Told]) -> None:
    assert len({each.case.text for each in told}) == len(told) > ENOUGH


@pytest.mark.parametrize("what", ASKED)
def test_each_message_names_it(told: list[Told], what: str) -> None:
    assert [(each.case.name, each.message) for each in told if not getattr(each, what)] == []


def test_what_is_said_stays(told: list[Told]) -> None:
    assert changes("configs", said(told)) == [], "is it meant? Then `just kept configs`"


@pytest.mark.parametrize("part", [pytest.param(part, marks=SOAK if part else HEAVY) for part in range(PARTS)])
def test_every_hint_works_when_it_is_typed(told: list[Told], tmp_path: Path, part: int) -> None:
    every = {hint: each.case.text for each in told for hint in each.hints}
    hints = dict(sorted(every.items())[part::PARTS])
    assert hints

    assert {hint: works(hint, tmp_path, text) for hint, text in hints.items()} == dict.fromkeys(hints, "")
