"""What is drawn and told of runs with events is what it was; `just kept curves` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="numpy does the resampling")

from tests.kept.curves import RUNS, curves_of
from tests.kept.store import kept

DRAWN = kept("curves")


@pytest.mark.parametrize("name", RUNS)
def test_a_run_is_drawn_as_it_was(tmp_path: Path, name: str) -> None:
    assert curves_of(name, tmp_path) == DRAWN[name]
