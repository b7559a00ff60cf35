"""miniF2F in Lean 4: `MiniF2F/Test.lean` and `Valid.lean`, a file a theorem below `MiniF2F/Test` and `MiniF2F/Valid`, or rows of a file.

A problem is one theorem whose proof is open; an answer fills the proof, and may state lemmas before it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tracebench_veribench.lean.problem import LeanProblem, region, unfinished
from tracebench_veribench.lean.statements import find_theorems
from tracebench_veribench.text.lexing import LEAN, code_only

SPLITS = ("Test", "Valid")
_THEOREM = re.compile(r"^(?:theorem|lemma)\s+([^\s(:{\[]+)", re.MULTILINE)
_OPEN = re.compile(r":=\s*+(?:by\b)?+\s*+(?:sorry)?+\s*+\Z")
_HEAD = re.compile(r"^(?:import|open|set_option|noncomputable section)\b.*$", re.MULTILINE)
_SHARED = re.compile(r"^import MiniF2F\.\S+$", re.MULTILINE)
"""A file of the checkout that imports Mathlib for all problems: an answer is compiled without it."""
_LEAN_3 = Path("lean", "src", "test.lean")
"""Of openai/miniF2F, beside its statements for other provers."""
_ASK = "Prove this theorem in Lean 4."


def find_files(root: Path) -> list[Path]:
    """Return the files of a checkout that hold theorems to prove; those of one theorem each where both kinds are there."""
    folder = next((f for f in (root / "MiniF2F", root) if any((f / s).is_dir() for s in SPLITS)), None)
    if folder is not None:
        return sorted(path for split in SPLITS for path in (folder / split).glob("*.lean"))
    places = [root / "MiniF2F" / f"{split}.lean" for split in SPLITS]
    return [place for place in (*places, root / _LEAN_3) if place.is_file()]


def read_problems(path: Path) -> list[LeanProblem]:
    """Read the theorems of one file.

    Raises:
        ValueError: when it holds none whose proof is open, or is of Lean 3.
    """
    if path.parts[-3:] == _LEAN_3.parts:
        raise ValueError(f"`{path}` is in Lean 3, which nothing here compiles: take the port, yangky11/miniF2F-lean4")
    code = code_only(path.read_text(encoding="utf-8"), LEAN)
    starts = [match.start() for match in _THEOREM.finditer(code)]
    header = "\n".join(_HEAD.findall(code[: starts[0]] if starts else ""))
    split = path.stem if path.stem in SPLITS else path.parent.name
    pieces = (code[start:end].strip() for start, end in zip(starts, [*starts[1:], len(code)], strict=True))
    problems = [_problem(header, piece, split.lower()) for piece in pieces if _OPEN.search(piece)]
    if not problems:
        raise ValueError(f"`{path}` holds no theorem whose proof is open")
    return problems


def is_row(row: Mapping[str, Any]) -> bool:
    """Tell whether a row is a statement to prove."""
    return isinstance(row.get("formal_statement"), str)


def read_row(row: Mapping[str, Any]) -> LeanProblem:
    """Read a row with `formal_statement`, and `header`, `split` and `informal_prefix` where it has them.

    Raises:
        ValueError: when the statement is no theorem whose proof is open.
    """
    code = code_only(str(row["formal_statement"]), LEAN)
    start = _THEOREM.search(code)
    if start is None or not _OPEN.search(code):
        raise ValueError(f"row `{row.get('name')}`: `formal_statement` is no theorem whose proof is open")
    header = str(row.get("header") or "import Mathlib\n") + code[: start.start()]
    told = str(row.get("informal_prefix") or row.get("informal_stmt") or "")
    return _problem(header, code[start.start() :].strip(), str(row.get("split") or "test"), told=told)


def _problem(header: str, theorem: str, split: str, *, told: str = "") -> LeanProblem:
    name = _THEOREM.match(theorem)
    statement = _OPEN.sub("", theorem).rstrip()
    skeleton = f"{_SHARED.sub('import Mathlib', header).strip()}\n\n{region('proof_aux')}\n{statement} := by\n{region('proof')}"
    aim = re.sub(r"^/--|-/$", "", told.strip()).strip()
    return LeanProblem(
        name=name.group(1) if name else "",
        title=name.group(1).replace("_", " ") if name else "",
        category=split,
        source="minif2f",
        prompt="\n\n".join(filter(None, [_ASK, aim]))
        + "\n\nFill the regions `proof_aux` (lemmas, if you need any) and `proof` of this file; keep every `-- !benchmark` line, and "
        f"change nothing else:\n```lean\n{skeleton}```\n",
        skeleton=skeleton,
        theorems=find_theorems(skeleton),
        reference=unfinished(skeleton),
        digest=hashlib.sha256(f"{header}\0{theorem}".encode()).hexdigest(),
    )


def read_rows(rows: Iterable[Mapping[str, Any]]) -> list[LeanProblem]:
    """Read rows; the first of two of one name counts."""
    problems: dict[str, LeanProblem] = {}
    for row in rows:
        problem = read_row(row)
        problems.setdefault(problem.name, problem)
    return list(problems.values())
