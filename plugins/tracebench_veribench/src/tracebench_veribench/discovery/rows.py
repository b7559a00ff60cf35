"""VeriBench rows: from the hub, or from a local file of the same shape; gold files beside them add statements and tests."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from tracebench_veribench.lean.declarations import find_counterparts, find_supporting
from tracebench_veribench.lean.problem import LeanProblem, describe_obligations
from tracebench_veribench.lean.statements import find_theorems, is_trivial

DATASET = "allenanie/veribench_with_prompts"
_ASK = "Analyze and translate the Python file below:\n\n"


class RowError(ValueError):
    """A row lacks what a problem needs; the message names file and row."""


def read_rows(path: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a `.jsonl` or `.json` file.

    Raises:
        RowError: for a line that is no JSON object, and a file that is no list of them.
    """
    text = path.read_text(encoding="utf-8")
    lines = _read_json(path, text) if path.suffix == ".json" else [line for line in text.split("\n") if line.strip()]
    if not isinstance(lines, list):
        raise RowError(f"`{path}` holds no list of rows")
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line) if isinstance(line, str) else line
        except ValueError as err:
            raise RowError(f"`{path}`, row {number}: not JSON: {err}") from err
        if not isinstance(row, dict):
            raise RowError(f"`{path}`, row {number}: not an object")
        yield row


def build_problems(
    rows: Iterable[Mapping[str, Any]], *, source: str, gold: Mapping[str, str] | None = None
) -> list[LeanProblem]:
    """Build a problem a row; the first of two rows of one name counts.

    `gold` maps a task's name to its reference file; it stays hidden, and gives the statements that an answer must prove.

    Raises:
        RowError: for a row without `code` or `user_query`.
    """
    problems: dict[str, LeanProblem] = {}
    for index, row in enumerate(rows):
        problem = build_problem(row, index, source=source, gold=gold or {})
        problems.setdefault(problem.name, problem)
    return list(problems.values())


def build_problem(row: Mapping[str, Any], index: int, *, source: str, gold: Mapping[str, str]) -> LeanProblem:
    """Build the problem of one row; see `build_problems`."""
    name = PurePosixPath(str(row.get("filename") or f"task_{index}")).name.removesuffix(".py")
    prompt = str(row.get("user_query") or "") or (_ASK + str(row["code"]) if row.get("code") else "")
    if not prompt:
        raise RowError(f"row {index + 1} (`{name}`) of {source} has neither `user_query` nor `code`")
    reference = gold.get(name) or gold.get(str(index)) or str(row.get("gold_reference_lean4_code") or "")
    theorems = {n: s for n, s in find_theorems(reference).items() if not is_trivial(s)} if reference else {}
    free = find_counterparts(reference, str(row.get("code") or prompt)) if reference else ()
    given = find_supporting(reference, theorems.values(), free)
    return LeanProblem(
        name=name,
        title=name.replace("_", " ").capitalize(),
        category=str(row.get("category") or "other").removesuffix("_set"),
        source="gold" if reference else source,
        prompt=prompt + describe_obligations(theorems, given),
        given=given,
        theorems=theorems,
        free=free,
        reference=reference if theorems else "",
        digest=hashlib.sha256(json.dumps([dict(row), reference], sort_keys=True, default=str).encode()).hexdigest(),
    )


def read_gold(folder: Path) -> dict[str, str]:
    """Return the reference files in `<folder>/task_<id>.json` (`gold_reference_lean4_code`), by id.

    Raises:
        RowError: for a file that holds no JSON object.
    """
    found = {}
    for path in sorted(folder.glob("task_*.json")):
        told = _read_json(path, path.read_text(encoding="utf-8"))
        if not isinstance(told, dict):
            raise RowError(f"`{path}` holds no object")
        text = told.get("gold_reference_lean4_code")
        if isinstance(text, str) and text.strip():
            found[path.stem.removeprefix("task_")] = text
    return found


def _read_json(path: Path, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as err:
        raise RowError(f"`{path}` is not JSON: {err}") from err
