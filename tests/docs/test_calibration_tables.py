"""The tables of calibrations in the docs: one for each suite, shaped as the command prints it, of the cases offered today."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import get_args

import pytest
from tests.docs.writers import load_writer

from tracebench_core.plugins import Catalog
from tracebench_core.specs import CalibrationKind
from tracebench_engine.api import open_host
from tracebench_engine.api.calibrating import BROKEN, HEAD, NOT_MEASURED, RESULTS, WITHOUT, chosen_tasks
from tracebench_engine.checks.calibration.cases import cases_of
from tracebench_engine.measure.building import open_task

ROOT = Path(__file__).parents[2]
QUICK = ("internal", "trace_examples", "example_plugin", "opto", "fields")
"""Suites whose tasks are opened in no time; of the others the shape alone is looked at."""
CAME_OUT = re.compile(rf"(\d+) ({'|'.join(RESULTS)})")


@pytest.fixture(scope="module")
def written() -> ModuleType:
    return load_writer("calibrations")


def rows_of(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table.splitlines()]


def test_every_suite_has_one_table_of_the_commands_shape(written: ModuleType) -> None:
    found = list(written.tables(written.pages()))

    counts = Counter(suite for suite, _ in found)
    offered = {id_.partition(":")[0] for id_ in chosen_tasks(open_host(), ())}
    assert set(counts.values()) == {1}
    assert offered <= set(counts)
    kinds = [f"`{kind}`" for kind in get_args(CalibrationKind)]
    for suite, table in found:
        head, _, *rows = rows_of(table)
        assert head == list(HEAD), suite
        assert rows, f"just calibrations {suite}"
        first = [row[0] for row in rows]
        assert first == [name for name in [*kinds, WITHOUT, NOT_MEASURED, BROKEN] if name in first], suite
        for kind, tasks, cases, told, shown in rows:
            assert int(tasks) > 0, suite
            assert shown.startswith(f"`{suite}:"), (suite, shown)
            if kind in kinds:
                assert int(cases) == sum(int(n) for n, _ in CAME_OUT.findall(told)) >= int(tasks), (suite, kind)


@pytest.mark.parametrize("suite", QUICK)
def test_a_table_counts_the_cases_that_are_offered(
    written: ModuleType, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TRACEBENCH_FIELDS_SECRETS", raising=False)
    host = open_host()
    if suite not in host.records:
        pytest.skip(f"{suite} is not installed")
    offered: Counter[str] = Counter()
    for id_, spec in chosen_tasks(host, [suite]).items():
        if not Catalog.availability(spec):
            opened = open_task(host, id_, eval_kwargs={})
            offered.update(f"`{case.kind}`" for case in cases_of(host, id_, opened))
            opened.close()

    table = dict(written.tables(written.pages()))[suite]
    assert {row[0]: int(row[2]) for row in rows_of(table)[2:] if row[2]} == offered, f"just calibrations {suite}"
