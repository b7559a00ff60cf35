"""Marks in a module's text tell which lines ran, in its own process and in others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mutants.marks import REACHED, by_module, degrees, mark_all

SOURCE = '''"""Marked."""

from __future__ import annotations

LEAST, OTHER = 3, 4
ELSEWHERE = 5


def sign(x: float, *, least: int = LEAST) -> str:
    """Say it."""
    if x > least:
        return "high"
    elif x > OTHER - 4:
        return "low"
    try:
        return str(1 / x)
    except ZeroDivisionError:
        return "none"


def other(
    kind: str,
) -> list[str]:
    match kind:
        case "a":
            return [
                "one",
                "two",
            ]
        case _:
            return []


class Both:
    size: int = 2

    def wide(self) -> int:
        return self.size

    def narrow(self) -> int:
        """Say less."""
        return 1
'''
USER = "from marked import ELSEWHERE\n\n\ndef use() -> int:\n    return ELSEWHERE\n"
HOME = "pack/src"
ROOT = Path(__file__).parents[2]


def line_of(text: str) -> int:
    return next(n for n, line in enumerate(SOURCE.splitlines(), 1) if text in line)


def reached(folder: Path, line: str, calls: str) -> list[int]:
    """Return the degrees of a line's marks that are reached by some calls in another process, which test 7 started."""
    sources = {f"{HOME}/marked.py": SOURCE, f"{HOME}/user.py": USER}
    marks, told = by_module([degrees(f"{HOME}/marked.py", line_of(line), sources)])
    place = folder / HOME
    place.mkdir(parents=True)
    for name, text in sources.items():
        (folder / name).write_text(text)
    mark_all(folder, marks)
    (folder / "now").write_bytes((7).to_bytes(4, "little"))
    (place / "_reached.py").write_text(REACHED.format(folder=str(folder)))
    command = f"import marked, user\n{calls}\nassert marked.sign.__doc__ == 'Say it.'"
    subprocess.run([sys.executable, "-c", command], cwd=place, env={**os.environ, "PYTHONPATH": str(place)}, check=True)
    found = (folder / "reached").read_text().split("\n")[:-1] if (folder / "reached").exists() else []
    assert {text.split()[1] for text in found} <= {"7"}
    return sorted({told[int(text.split()[0])][1] for text in found})


@pytest.mark.parametrize(
    ("line", "calls", "degrees_reached"),
    [
        ("if x > least", "marked.sign(9)", [0]),
        ('return "high"', "marked.sign(9)", [0]),
        ('return "high"', "marked.sign(1)", []),
        ("elif x >", "marked.sign(9)", []),
        ("elif x >", "marked.sign(-1)", [0]),
        ("except ZeroDivisionError", "marked.sign(-1)", []),
        ("except ZeroDivisionError", "marked.sign(0)", [0]),
        ('case "a"', "marked.other('b')", []),
        ('"two"', "marked.other('a')", [0]),
        ("kind: str", "marked.other('b')", [0, 4]),
        ("least: int", "marked.other('b')", [4]),
        ("LEAST, OTHER", "", []),
        ("LEAST, OTHER", "marked.other('b')", [4]),
        ("ELSEWHERE = 5", "user.use()", [3]),
        ("size: int", "marked.Both().narrow()", [2, 4]),
        ("size: int", "marked.Both().wide()", [1, 2, 4]),
        ("class Both", "marked.Both().narrow()", [0, 2, 4]),
    ],
)
def test_a_line_is_marked_where_it_runs_or_shows(
    tmp_path: Path, line: str, calls: str, degrees_reached: list[int]
) -> None:
    assert reached(tmp_path, line, calls) == degrees_reached


SHARED = """
import pytest

def now() -> int:
    return int.from_bytes(open("now", "rb").read(), "little")

@pytest.fixture(scope="module")
def shared(): open("shared", "w").write(str(now()))

def test_first(shared): open("first", "w").write(str(now()))

def test_second(shared): open("second", "w").write(str(now()))

def test_alone(): pass

def test_fails(shared): assert now() == 0
"""


def test_what_a_shared_fixture_runs_counts_for_every_test_that_uses_it(tmp_path: Path) -> None:
    (tmp_path / "now").write_bytes(bytes(4))
    (tmp_path / "test_shared.py").write_text(SHARED)
    subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "tests.mutants.recorder", "-p", "no:cacheprovider", "-c", os.devnull, "test_shared.py"],
        cwd=tmp_path, env={**os.environ, "RECORDED": str(tmp_path), "PYTHONPATH": str(ROOT)}, capture_output=True, check=False,
    )  # fmt: skip
    told = json.loads((tmp_path / "recorded.json").read_text())
    wrote = {name: int((tmp_path / name).read_text()) for name in ("shared", "first", "second")}

    assert set(told["seconds"]) == {f"test_shared.py::test_{name}" for name in ("first", "second", "alone")}
    assert len({*wrote.values()}) == 3
    for name in ("first", "second"):
        assert {wrote["shared"], wrote[name]} <= {*told["numbers"][f"test_shared.py::test_{name}"]}
    assert wrote["shared"] not in told["numbers"]["test_shared.py::test_alone"]
