"""Where KernelBench's problems come from: a checkout of its repository, or the hub's rows in files beside each other.

Listing reads names; a problem's code is read when its task is opened, and never run outside of the sandbox.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from tracebench_kernelbench.modules.constants import rewrite_constants
from tracebench_kernelbench.modules.shrinking import digest

LEVELS = (1, 2, 3, 4)
WEIGHTS = "level 4 wraps models of a hub: the evaluation server judges them, with what is prepared there"
DATASET = "ScalingIntelligence/KernelBench"
CONSTANT = "its output does not depend on its inputs: a constant would pass"
"""Why a row of the table is refused that is so at every size."""
_FILE = re.compile(r"(\d+)_([\w.-]+)\.py")
REPRESENTATIVE = {
    1: (1, 3, 6, 18, 23, 26, 33, 36, 40, 42, 48, 54, 57, 65, 77, 82, 86, 87),
    2: (1, 2, 8, 18, 23, 28, 33, 43),
    3: (1, 5, 8, 11, 20, 21, 33, 38, 43),
}
"""By level, the numbers that KernelBench's authors chose for quick looks."""


@dataclass(frozen=True, slots=True)
class Found:
    """One problem on disk: a file of a checkout, or a row of a file."""

    level: int
    number: int
    name: str
    path: Path
    row: int | None = None

    def read(self) -> str:
        """Return its code.

        Raises:
            ValueError: for a row that has none.
        """
        if self.row is None:
            return self.path.read_text(encoding="utf-8")
        return _code(self.path, self.row)


def find_problems(root: Path) -> Iterator[Found]:
    """Yield the problems below a root, by level and number: `KernelBench/level1/1_Name.py`, `level1/…`, or rows in `level_1.jsonl`."""
    for level in LEVELS:
        folders = [root / "KernelBench" / f"level{level}", root / f"level{level}"]
        folder = next((folder for folder in folders if folder.is_dir()), None)
        rows = root / f"level_{level}.jsonl"
        if folder is not None:
            named = [(match, path) for path in folder.glob("*.py") if (match := _FILE.fullmatch(path.name))]
            found = [Found(level, int(match[1]), match[2], path) for match, path in named]
        else:
            found = list(_rows(rows, level)) if rows.is_file() else []
        yield from sorted({problem.number: problem for problem in found}.values(), key=lambda problem: problem.number)


def at_cpu_sizes(level: int, number: int, code: str) -> str:
    """Return the code with the constants of the profile `cpu`.

    Raises:
        LookupError: when no sizes are known for this version of the file.
    """
    known = cpu_sizes().get((level, number))
    if known is None or known["code"] != digest(code):
        raise LookupError(
            f"no sizes for a CPU are known for this version of level {level}, problem {number}: use `kernelbench:level{level}/{number}`"
        )
    return rewrite_constants(code, known["constants"])


@cache
def cpu_sizes() -> dict[tuple[int, int], dict[str, Any]]:
    """Return the shipped table: by level and number the digest of the file that it is for, and the constants to change."""
    text = files("tracebench_kernelbench.modules").joinpath("cpu_sizes.json").read_text(encoding="utf-8")
    return {(row["level"], row["id"]): row for row in json.loads(text)}


def refused(problem: Found, *, at_cpu_sizes: bool) -> str:
    """Return why a problem measures nothing, as the shipped table says of this version of its file; nothing where it does or is unknown."""
    row = cpu_sizes().get((problem.level, problem.number), {})
    why: str = row.get("refused", "")
    known = why and (at_cpu_sizes or why == CONSTANT) and digest(problem.read()) == row["code"]
    return why if known else ""


def _rows(path: Path, level: int) -> Iterator[Found]:
    for index, line in enumerate(_lines(path)):
        match = re.fullmatch(r"(?:\d+_)?([\w.-]+?)(?:\.py)?", str(line.get("name", "")))
        number = line.get("problem_id")
        if type(number) is int and match and line.get("level", level) == level:
            yield Found(level, number, match[1], path, index)


def _lines(path: Path) -> list[dict[str, Any]]:
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
        except ValueError as err:
            raise ValueError(f"`{path}`, line {number}: not JSON: {err}") from err
        if not isinstance(row, dict):
            raise ValueError(f"`{path}`, line {number}: not an object")  # noqa: TRY004 - of a file's text
        found.append(row)
    return found


def _code(path: Path, index: int) -> str:
    code = _lines(path)[index].get("code")
    if not isinstance(code, str):
        raise ValueError(f"`{path}`, line {index + 1}: no `code`")  # noqa: TRY004 - of a file's text
    return code
