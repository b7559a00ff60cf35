"""What travels between a sandbox and its caller, and what its filters do, stays; `just kept wires` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("numpy", reason="arrays travel, too")

from tests.kept.store import kept
from tests.kept.wires import PARTS, wire_of

SAID = kept("wires")


@pytest.mark.parametrize("part", PARTS)
def test_the_wire_stays(tmp_path: Path, part: str) -> None:
    assert wire_of(part, tmp_path) == SAID[part]
