"""The alignment of spans, against all permutations."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracebench_hfqa.families.alignment import best_alignment


@st.composite
def tables(draw: st.DrawFn) -> list[list[float]]:
    height, width = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    return [[draw(st.integers(0, 20)) / 20 for _ in range(width)] for _ in range(height)]


@given(tables())
def test_no_permutation_is_better(table: list[list[float]]) -> None:
    height, width = len(table), len(table[0])
    small, large = min(height, width), max(height, width)
    at = (lambda i, j: table[i][j]) if height <= width else (lambda i, j: table[j][i])
    best = max(sum(at(i, chosen[i]) for i in range(small)) for chosen in permutations(range(large), small))
    assert best_alignment(table) == pytest.approx(best)
