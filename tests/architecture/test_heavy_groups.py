"""Every group of heavy tests has a step that runs it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import pytest
from tests.whole import HEAVY

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


def _steps() -> dict[str, set[Path]]:
    """Return what the steps of each group go through, as the shell expands it."""
    found: dict[str, set[Path]] = {}
    lines = "".join((ROOT / ".ci" / name).read_text() for name in ("run", "soak")).replace("\\\n", " ").splitlines()
    for line in lines:
        if groups := re.search(r"TRACEBENCH_HEAVY=([\w,]+)", line):
            words = " ".join(re.findall(r"(?<=\s)(?:tests|plugins|libs)(?:/\S+)?(?=[\s)]|$)", line))
            told = subprocess.run(["bash", "-c", f"echo {words}"], capture_output=True, text=True, check=True).stdout
            for group in groups[1].split(","):
                found.setdefault(group, set()).update(ROOT / word for word in told.split())
    return found


@pytest.fixture(scope="module")
def steps() -> dict[str, set[Path]]:
    return _steps()


@pytest.mark.parametrize("group", sorted(_marked()))
def test_a_step_of_ci_or_of_the_soak_goes_through_every_file_of_each_group(
    group: str, steps: dict[str, set[Path]]
) -> None:
    places = steps.get(group, set())
    assert places, f"no step runs {sorted(_marked()[group])}"
    left = {
        name
        for name in _marked()[group]
        if ROOT / name != SHARED and not places & {ROOT / name, *(ROOT / name).parents}
    }
    assert left == set(), f"no step of the group {group} goes through these"


def test_the_step_of_the_group_whole_goes_through_every_file_that_leaves_cells_to_it() -> None:
    text = (ROOT / ".ci/run").read_text().replace("\\\n", " ")
    (found,) = re.findall(r"TRACEBENCH_HEAVY=whole tests \S+ -n \d -m heavy -r f\s+\$\((.+)\)", text)
    named = {
        ROOT / name
        for name in subprocess.run(
            ["bash", "-c", found], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.split()
    }
    files = chain.from_iterable((ROOT / top).rglob("*.py") for top in ("tests", "plugins", "libs"))
    using = [each for each in files if re.search(r"^(?:from|import) tests\.whole\b", each.read_text(), re.MULTILINE)]

    assert len(using) > 100
    assert [each for each in using if not named & {each, *each.parents}] == []


@HEAVY
@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_what_is_left_out_is_counted_by_group_and_is_no_failure(workers: tuple[str, ...]) -> None:
    environ = {name: value for name, value in os.environ.items() if name != "TRACEBENCH_HEAVY"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *workers, "tests/chaos"]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout
    assert re.search(r"\d+ of the group `chaos`: set TRACEBENCH_HEAVY=chaos to run them", done.stdout), done.stdout
