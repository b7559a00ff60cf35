"""The short form of the table of processes that are held or refuse to die: `python -m tests.crash.held` goes through all of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.crash.held import Held, Outcome, table
from tests.crash.soak import install_ward
from tests.whole import cells

SHARE = [
    ("template", "refuses", "cancel"),
    ("gateway", "held", "Ctrl-C"),
    ("scoring", "refuses", "SIGTERM"),
    ("environments", "held", "its end"),
    ("scoring template", "held", "its end"),
    ("server of helpers", "held", "SIGTERM"),
]


# `tests/engine/test_watchdogs.py` holds the gateway and what holds environments in another run
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("process", "way", "end"), cells(SHARE, always=[], often=SHARE[:1] + SHARE[2:3] + SHARE[4:]))
def test_a_run_ends_whoever_is_held_or_refuses_to_die(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, process: str, way: str, end: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    install_ward(tmp_path / "site")
    try:
        outcome = Held(tmp_path / "runs", process, way, end).go_through()
    except PermissionError as err:
        pytest.skip(str(err))
    assert outcome.wrong == []


def test_the_table_names_what_was_wrong() -> None:
    cell = ("job", "held", "cancel")
    assert "| job | held |  |  |  | WRONG: still there after 60 s |" in table(
        {cell: Outcome(wrong=["still there after 60 s"])}
    )
    assert "| job | held |  |  |  | 130, 3 s |" in table({cell: Outcome(130, 3.2)})
