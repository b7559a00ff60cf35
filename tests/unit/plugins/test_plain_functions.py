"""What the core's plain functions return, and what its specs take, stays; `just kept core` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kept.core import PARTS, core_of
from tests.kept.store import kept

SAID = kept("core")


@pytest.mark.parametrize("part", PARTS)
def test_plain_functions_return_what_they_did(tmp_path: Path, part: str) -> None:
    assert core_of(part, tmp_path) == SAID[part]
