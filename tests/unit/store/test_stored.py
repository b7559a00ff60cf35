"""What is stored and read of a run with events of every kind is what it was; `just kept stored` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kept.store import kept
from tests.kept.stored import PARTS, stored_of

SAID = kept("stored")


@pytest.mark.parametrize("part", PARTS)
def test_what_is_stored_stays(tmp_path: Path, part: str) -> None:
    assert stored_of(part, tmp_path) == SAID[part]
