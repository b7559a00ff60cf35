"""What feedback quotes of a value that a candidate returned."""

from __future__ import annotations

import numpy as np
import pytest

from tracebench_llm4ad.returned import QUOTED, shown


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3 (int)"),
        ("x" * (QUOTED - 2), f"'{'x' * (QUOTED - 2)}' (str)"),
        ("x" * QUOTED, f"'{'x' * (QUOTED - 4)}... (str)"),
        (np.zeros((2, 3)), "an array of shape (2, 3) and dtype float64"),
    ],
)
def test_a_value_is_quoted_up_to_a_length(value: object, text: str) -> None:
    assert shown(value) == text
