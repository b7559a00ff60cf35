"""Matrices of tests: a part of the cells runs always, the others where `TRACEBENCH_HEAVY=whole` is set, as `.ci/run` does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

HEAVY = pytest.mark.heavy("whole")
SOAK = pytest.mark.heavy("soak")
"""Of cells that cost minutes together: `.ci/soak` goes through them."""


def one_in(number: int, values: Iterable[Any]) -> list[Any]:
    """Return values as parameters: the first and then one in so many run always; the others are marked as heavy."""
    return [pytest.param(value, marks=() if turn % number == 0 else (HEAVY,)) for turn, value in enumerate(values)]


def cells(
    every: Iterable[tuple[Any, ...]],
    *,
    always: Iterable[tuple[Any, ...]],
    often: Iterable[tuple[Any, ...]] | None = None,
) -> list[Any]:
    """Return the cells of a matrix as parameters; those that are not among `always` are heavy; where `often` names some, the rest soak."""
    kept, left = [*always], [*every]
    some = left if often is None else [*often]
    unknown = [cell for cell in (*kept, *some) if cell not in left]
    assert not unknown, unknown
    return [pytest.param(*cell, marks=() if cell in kept else (HEAVY if cell in some else SOAK,)) for cell in left]
