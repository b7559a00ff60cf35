"""A comparison is read from the index only where it would come out as it was kept."""

from __future__ import annotations

from typing import Any

import pytest

from tracebench_viewer.comparing import key_of

GIVEN: dict[str, Any] = {"run_ids": ["a", "b"], "stamps": ["1", "2"], "baseline": "NoOp", "axis": "evaluations"}


@pytest.mark.parametrize(
    "change",
    [
        {"run_ids": ["a", "c"]},
        {"run_ids": ["b", "a"]},
        {"stamps": ["1", "3"]},
        {"baseline": None},
        {"baseline": "RandomSearch"},
        {"axis": "usd"},
        {"axis": "llm_calls"},
    ],
)
def test_whatever_changes_a_comparison_changes_what_it_is_kept_under(change: dict[str, Any]) -> None:
    assert key_of(**GIVEN) == key_of(**GIVEN)
    assert key_of(**{**GIVEN, **change}) != key_of(**GIVEN)
