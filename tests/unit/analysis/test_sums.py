"""What statistics and estimates come to for small figures is what it was; `just kept sums` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.kept.store import kept
from tests.kept.sums import PARTS, sum_of

SAID = kept("sums")


@pytest.mark.parametrize("part", PARTS)
def test_small_figures_come_to_what_they_did(tmp_path: Path, part: str) -> None:
    assert sum_of(part, tmp_path) == SAID[part]
