"""What is said of damaged runs, and what becomes of them, is what it was; `just kept damages` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kept.damages import DAMAGES, damaged_of
from tests.kept.store import kept

SAID = kept("damages")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damages")


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_is_told_and_mended_as_it_was(folder: Path, name: str) -> None:
    assert damaged_of(name, folder) == SAID[name]
