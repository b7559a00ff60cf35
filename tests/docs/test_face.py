"""The file of the public face has every name that is public now; that none goes is held in tests/architecture."""

from __future__ import annotations

import pytest

pytest.importorskip("griffe", reason="griffe reads signatures from sources")

from tests.face import FILE, face
from tests.whole import HEAVY


@HEAVY
def test_every_public_name_is_in_the_file() -> None:
    known = FILE.read_text(encoding="utf-8").splitlines()
    assert [line for line in face() if line not in known] == [], "is it meant to be public? Then `just face`"
