"""What a comparison says of each of many small runs is what it said before; `just kept comparisons` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.kept.comparisons import WORLDS, comparison_of
from tests.kept.store import kept

SAID = kept("comparisons")


@pytest.mark.parametrize("name", WORLDS)
def test_a_comparison_says_what_it_said(tmp_path: Path, name: str) -> None:
    assert comparison_of(name, tmp_path) == SAID[name]
