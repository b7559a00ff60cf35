"""What pages say and draw of a run is what they did; `just kept pages` after a change that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.kept.pages import PARTS, page_of
from tests.kept.store import kept

SAID = kept("pages")


@pytest.mark.parametrize("part", PARTS)
def test_pages_say_what_they_said(tmp_path: Path, part: str) -> None:
    assert page_of(part, tmp_path) == SAID[part]
