"""Verina-format folders: `task.lean` with `!benchmark` regions, `test.json`, `task.json`, `description.txt`."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from tracebench_veribench.discovery.literals import UnwritableError, write_literal
from tracebench_veribench.lean.problem import LeanProblem, blank, unfinished
from tracebench_veribench.lean.statements import find_theorems

_FILES = ("task.lean", "task.json", "test.json", "description.txt")


def find_folders(root: Path) -> list[Path]:
    """Return the folders of this format in a root, or in a checkout's `datasets/verina`."""
    places = [place for place in (root, root / "datasets" / "verina") if place.is_dir()]
    folders = sorted(folder for place in places for folder in place.iterdir())
    return [folder for folder in folders if all((folder / name).is_file() for name in _FILES)]


def read_problem(folder: Path) -> LeanProblem:
    """Read one folder.

    Raises:
        ValueError: when a file is not what the format says; the message names it.
    """
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in _FILES}
    try:
        facts, cases = json.loads(texts["task.json"]), json.loads(texts["test.json"])
        signature = facts["signature"]
        tests = tuple(t for case in cases if (t := _test(signature, case)) is not None)
    except (ValueError, KeyError, TypeError) as err:
        raise ValueError(f"`{folder}` is no Verina problem: {err!r}") from err
    skeleton = blank(texts["task.lean"])
    return LeanProblem(
        name=folder.name,
        title=f"{signature['name']} ({folder.name})",
        category="advanced" if "advanced" in folder.name else "basic",
        source="verina",
        prompt=_prompt(texts["description.txt"], skeleton),
        skeleton=skeleton,
        theorems=find_theorems(skeleton),
        tests=tests,
        free=(str(signature["name"]),),
        reference=unfinished(skeleton),
        digest=hashlib.sha256("\0".join(texts[name] for name in _FILES).encode()).hexdigest(),
    )


def _prompt(description: str, skeleton: str) -> str:
    return (
        f"{description.strip()}\n\nFill the regions `solution_aux`, `code_aux`, `code`, `proof_aux` and `proof` of this Lean 4 file; keep "
        f"every `-- !benchmark` line, and change nothing else:\n```lean\n{skeleton}```\n"
    )


def _test(signature: dict[str, Any], case: dict[str, Any]) -> str | None:
    """Return `f (a) (b) (by decide) = expected`; None for a value that cannot be written as a literal."""
    try:
        arguments = [
            f"({write_literal(case['input'][p['param_name']], p['param_type'])})" for p in signature["parameters"]
        ]
        expected = write_literal(case["expected"], signature["return_type"])
    except UnwritableError:
        return None
    call = " ".join([signature["name"], *arguments, "(by first | decide | simp)"])
    return f"({call}) = ({expected} : {signature['return_type']})"
