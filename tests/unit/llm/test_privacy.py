"""What the gateway's libraries write passes a filter for keys."""

from __future__ import annotations

import io

import pytest

from tracebench_gateway.server.echo import Redacting

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize("pieces", [[f"key {KEY}!\n"], [KEY[:5], f"{KEY[5:]}\n"], [f"a\n{KEY}"], list(f"x{KEY}y")])
def test_a_key_is_masked_however_it_is_written(pieces: list[str]) -> None:
    below = io.StringIO()
    stream = Redacting(below, [KEY])
    for piece in pieces:
        assert stream.write(piece) == len(piece)
    stream.finish()
    assert KEY not in below.getvalue()
    assert below.getvalue() == "".join(pieces).replace(KEY, "[redacted]")
