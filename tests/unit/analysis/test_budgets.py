"""What jobs were allowed and what they used: which cap all share, and whose use differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.analysis.runs import make_run

from tracebench_analysis.comparison.budgets import (
    UNCHANGING,
    Use,
    as_cap,
    smallest_common_budget,
    uncapped_common_use,
    unequal_uses,
)
from tracebench_core.specs import Axis, Budget, BudgetState
from tracebench_runs.reading.reader import Run


def run(folder: Path, **more: Any) -> Run:
    return make_run(folder, lambda *_: 1.0, tasks=("s:x",), seeds=(1, 2), **more)


def test_a_job_begins_with_nothing_used() -> None:
    assert BudgetState().model_dump() == {"evaluations": 0, "llm_calls": 0, "tokens": 0, "usd": 0.0, "seconds": 0.0}


def test_the_smallest_cap_that_all_have_is_told_where_they_differ(tmp_path: Path) -> None:
    less = run(tmp_path / "less", budget=Budget(evaluations=5, llm_calls=9))
    more = run(tmp_path / "more", budget=Budget(evaluations=8, llm_calls=9))

    assert smallest_common_budget([less, more]) == Budget(evaluations=5)
    assert smallest_common_budget([less]) is None


def test_the_smallest_of_the_largest_uses_counts_where_nothing_is_capped(tmp_path: Path) -> None:
    assert uncapped_common_use([run(tmp_path / "far", used={"A": 10, "B": 30})], "evaluations") == 10
    assert uncapped_common_use([run(tmp_path / "near", used={"A": 10, "B": 11})], "evaluations") is None
    capped = run(tmp_path / "capped", used={"A": 10, "B": 30}, budget=Budget(evaluations=40))
    assert uncapped_common_use([capped], "evaluations") is None


def test_neither_failed_jobs_nor_the_trainer_that_changes_nothing_set_a_common_use(tmp_path: Path) -> None:
    failed: Any = {("A", "s:x", 1): "failed", ("A", "s:x", 2): "failed"}
    found = [
        run(tmp_path / "failed", used={"A": 1, "B": 30, "C": 60}, trainers=("A", "B", "C"), statuses=failed),
        run(tmp_path / "idle", used={UNCHANGING: 1, "B": 30}, trainers=(UNCHANGING, "B")),
    ]

    assert uncapped_common_use(found, "evaluations") == 30


@pytest.mark.parametrize(("most", "told"), [(11, None), (12, ("A", "B", 1.2)), (0, None), (None, None)])
def test_uses_are_told_apart_from_a_tenth_on(most: float | None, told: Any) -> None:
    amounts = {"A": 10.0, "B": most}
    uses = {
        name: Use(evaluations=amount, llm_calls=None, tokens=None, usd=None, seconds=None)
        for name, amount in amounts.items()
    }

    assert unequal_uses(uses, "evaluations") == told


@pytest.mark.parametrize(
    ("axis", "amount", "cap"),
    [
        ("evaluations", 9.5, 9),
        ("llm_calls", 4.0, 4),
        ("tokens", 1342.75, 1342),
        ("usd", 0.25, 0.25),
        ("seconds", 1.5, 1.5),
    ],
)
def test_a_mean_use_becomes_a_cap(axis: Axis, amount: float, cap: float) -> None:
    assert as_cap(axis, amount) == cap
    assert Budget.model_validate({axis: as_cap(axis, amount)}).caps() == {axis: cap}
