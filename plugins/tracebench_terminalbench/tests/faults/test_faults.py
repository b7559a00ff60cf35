"""What befalls a trial comes out as its row of the page says, nothing is left of it, and the run goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from plugins.tracebench_terminalbench.tests.faults.__main__ import PLACE
from plugins.tracebench_terminalbench.tests.faults.measuring import measure, together
from plugins.tracebench_terminalbench.tests.faults.rows import DISK, FAULTS, Fault
from plugins.tracebench_terminalbench.tests.images import needs_tools

from tracebench_terminalbench.found import Harbor

PAGE = Path(__file__).parents[4] / "docs/reference/terminal_bench.md"
OUTCOMES = {"1": "measured: 1", "0": "measured: 0", "again": "measured when tried again: 1", "nothing": "not measured"}


def test_the_table_of_the_page_has_every_fault_and_says_of_each_what_is_expected() -> None:
    found = PLACE.search(PAGE.read_text())
    assert found is not None
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in found[2].splitlines()[2:]]
    expected = {f"{f.group} {f.what}": (OUTCOMES[f.expected], f.sound, "nothing") for f in FAULTS}

    assert {row[0]: row[1:] for row in rows} == expected


@pytest.mark.heavy("harbor")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("faults", [*together(FAULTS)], ids=lambda faults: faults[0].slug)
def test_a_fault_is_told_and_leaves_nothing(harbor: Harbor, tmp_path: Path, faults: list[Fault]) -> None:
    needs_tools(tmp_path)
    if faults[0].group == DISK and os.getuid():
        pytest.skip("a disk of a size is mounted, which needs root")
    wrong = {row.name: row.wrong for row in measure(faults) if row.wrong}

    assert wrong == {}
