"""Every group of heavy tests has a step that runs it."""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"mark\.heavy\(\"(\w+)\"")
FILES = [*chain.from_iterable((ROOT / top).rglob("test_*.py") for top in ("tests", "plugins", "libs"))]
SHARED = ROOT / "tests/whole.py"


def _marked() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for file in (SHARED, *FILES):
        for group in MARK.findall(file.read_text()):
            found.setdefault(group, set()).add(file.relative_to(ROOT).as_posix())
    return found


@pytest.mark.parametrize("group", sorted(_marked()))
def test_a_step_of_ci_or_of_the_soak_runs_every_group(group: str) -> None:
    steps = (ROOT / ".ci/run").read_text() + (ROOT / ".ci/soak").read_text()
    named = {name for names in re.findall(r"TRACEBENCH_HEAVY=([\w,]+)", steps) for name in names.split(",")}
    assert group in named, f"no step runs {sorted(_marked()[group])}"


def test_the_step_of_the_group_whole_goes_through_every_file_that_leaves_cells_to_it() -> None:
    (named,) = re.findall(r"TRACEBENCH_HEAVY=whole tests \S+ -m heavy -r f (.+)", (ROOT / ".ci/run").read_text())
    folders = [ROOT / name for name in named.split()]
    left = [
        file for file in FILES if "from tests.whole import" in file.read_text() and not {*folders} & {*file.parents}
    ]

    assert left == []
