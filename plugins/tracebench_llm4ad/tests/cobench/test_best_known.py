"""Best known values reach the cases of files of their names, in their order, and give CO-Bench's normalised score."""

from __future__ import annotations

import numpy as np
import pytest

from tracebench_llm4ad.cobench.best_known import BEST_KNOWN, best_known, share_of_best_known
from tracebench_llm4ad.cobench.catalog import ROWS
from tracebench_llm4ad.cobench.covering import SetCovering
from tracebench_llm4ad.cobench.location import Medians
from tracebench_llm4ad.cobench.problem import SHARE, CoBenchOptions


def test_every_folder_is_one_of_co_bench_and_every_value_counts() -> None:
    assert {*BEST_KNOWN} <= {row.folder for row in ROWS}
    for files in BEST_KNOWN.values():
        for values in files.values():
            assert all(value > 0 for value in values)


def test_no_generated_file_bears_a_name_that_is_known() -> None:
    from tracebench_core.plugins import load_ref
    from tracebench_llm4ad.cobench.catalog import SPECS

    for spec, row in zip(SPECS, ROWS, strict=True):
        rules = load_ref(spec.loader, owner=spec.name).__self__
        assert all(best_known(row.folder, rules.file_name(k), 0) is None for k in range(40))


def test_a_file_of_a_known_name_has_its_value_and_any_other_has_none() -> None:
    text = SetCovering.write(np.random.default_rng(1))
    assert [case.known for case in SetCovering.parsed(text, name="scp410.txt")] == [514.0]
    assert [case.known for case in SetCovering.parsed(text, name="SCPNRE2.TXT")] == [32.0]
    assert [case.known for case in SetCovering.parsed(text, name="generated-1.txt")] == [None]
    assert best_known("p-median - uncapacitated", "pmed40.txt", 0) == 5128
    assert Medians.folder in BEST_KNOWN


def test_an_answer_is_told_its_share() -> None:
    task = SetCovering(CoBenchOptions(data="generated"))
    case = SetCovering.parsed(SetCovering.write(np.random.default_rng(1)), name="scpe1.txt")[0]
    every = {"selected_columns": [*range(1, case.arguments["n"] + 1)]}
    verdict = task.judge(case, every)
    assert verdict.metrics == {SHARE: pytest.approx(5 / verdict.value)}
    assert task.bound(case) == 5.0
    unknown = task.judge(
        task.lists["train"][0], {"selected_columns": [*range(1, task.lists["train"][0].arguments["n"] + 1)]}
    )
    assert SHARE not in unknown.metrics


@pytest.mark.parametrize(
    ("value", "known", "minimize", "share"),
    [(20.0, 10.0, True, 0.5), (5.0, 10.0, False, 0.5), (0.0, 0.0, True, 1.0), (3.0, 0.0, True, 0.25), (3.0, 0.0, False, None),
     (0.0, 10.0, True, None)],
)  # fmt: skip
def test_the_share_is_one_at_the_best_known_value(
    value: float, known: float, minimize: bool, share: float | None
) -> None:
    assert share_of_best_known(value, known, minimize=minimize) == share
