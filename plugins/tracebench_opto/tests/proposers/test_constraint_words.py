"""What an optimizer of opto is told that a value must be: every bound in words, and no bound that is not there."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_core.specs import Parameter
from tracebench_opto.bridge.graph import constraint


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"initial": "a"}, "a value of kind text"),
        ({"initial": "a", "max_length": 60}, "at most 60 characters"),
        ({"initial": 1.0, "kind": "number"}, "a value of kind number"),
        ({"initial": 1.0, "kind": "number", "minimum": 0}, "at least 0"),
        ({"initial": 1.0, "kind": "number", "minimum": 0.5, "maximum": 2}, "at least 0.5; at most 2"),
        ({"initial": 0.0, "kind": "number", "maximum": 0}, "at most 0"),
        ({"initial": "x", "kind": "choice", "choices": ("x", "y")}, 'one of ["x", "y"]'),
        ({"initial": "a", "description": "A greeting.", "max_length": 9}, "A greeting; at most 9 characters"),
    ],
)
def test_every_bound_is_said_and_no_other(fields: dict[str, Any], words: str) -> None:
    assert constraint(Parameter(name="p", **fields)) == words


def test_code_is_told_how_it_starts() -> None:
    code = Parameter(name="p", initial="", kind="code", signature="def answer(x):", max_length=900)

    assert constraint(code).endswith("def answer(x):")
