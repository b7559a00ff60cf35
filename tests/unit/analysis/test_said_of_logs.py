"""What is said of logs of other programs is what was said before; `just kept logs` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kept.logs import WORLDS, log_of
from tests.kept.store import kept
from tests.unit.analysis.test_logs import BAD

SAID = kept("logs")


@pytest.mark.parametrize("name", [*WORLDS, *BAD])
def test_of_logs_is_said_what_was_said(tmp_path: Path, name: str) -> None:
    assert log_of(name, tmp_path) == SAID[name]
