"""CLEVER: `human_eval/problem_<n>.lean`, in parts between `-- start_def` and `-- end_def`.

An answer writes the implementation and proves that it meets the given specification. (CLEVER's other half, to write the specification
and prove it equal to the hidden one, is not asked for.)
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tracebench_veribench.lean.problem import LeanProblem, region, unfinished
from tracebench_veribench.lean.statements import find_theorems

_FILE = re.compile(r"problem_(\d+)\.lean")
_PART = re.compile(r"^--+\s*start_def\s+(\w+)[^\n]*\n(.*?)^--+\s*end_def\b", re.MULTILINE | re.DOTALL)
_IMPORTS = re.compile(r"^import\s+.*$", re.MULTILINE)
_TEST = re.compile(r"^(?:--+\s*)?#test\s+(.+(?:\n(?!#|--)[^\n]+)*)", re.MULTILINE)
"""Most stand in comments, to be taken out of them once the function is there."""
_NEEDED = ("problem_details", "problem_spec", "implementation_signature", "correctness_definition")
_SIGNATURE = re.compile(r"function_signature:\s*\"?def\s+(\w+)")


def find_files(root: Path) -> list[Path]:
    """Return the problem files of a checkout, in the order of their numbers."""
    folders = (root / "src" / "lean4" / "human_eval", root / "human_eval", root)
    found = next(filter(None, (list(folder.glob("problem_*.lean")) for folder in folders if folder.is_dir())), [])
    numbered = [(int(match.group(1)), path) for path in found if (match := _FILE.fullmatch(path.name))]
    return [path for _, path in sorted(numbered)]


def read_problem(path: Path) -> LeanProblem:
    """Read one file.

    Raises:
        ValueError: when a part is missing, or the theorem cannot be found.
    """
    text = path.read_text(encoding="utf-8")
    parts = dict(reversed(_PART.findall(text)))  # the first of a name counts
    if missing := [name for name in _NEEDED if name not in parts]:
        raise ValueError(f"`{path}` has no part `{missing[0]}`")
    helpers = [body.strip() for name, body in _PART.findall(text) if name == "helper_definitions"]
    skeleton = "\n".join(
        [
            *_IMPORTS.findall(text),
            "",
            *helpers,
            parts["problem_spec"].strip(),
            "",
            region("code_aux"),
            parts["implementation_signature"].strip(),
            region("code"),
            region("proof_aux"),
            parts["correctness_definition"].strip(),
            region("proof"),
        ]
    )
    theorems = find_theorems(skeleton)
    if "correctness" not in theorems:
        raise ValueError(f"`{path}` states no theorem `correctness`")
    details = parts["problem_details"].split("test_cases:")[0].replace("/--", "").replace("-/", "").strip()
    called = _SIGNATURE.search(details)
    return LeanProblem(
        name=f"clever_{path.stem}",
        title=f"{called.group(1) if called else path.stem} ({path.stem})",
        category="clever",
        source="clever",
        prompt=f"Implement this function in Lean 4, and prove that it meets `problem_spec`.\n\n{details}\n\n"
        "Fill the regions `code_aux`, `code`, `proof_aux` and `proof` of this file; keep every `-- !benchmark` line, and "
        "change nothing else:\n"
        f"```lean\n{skeleton}```\n",
        skeleton=skeleton,
        theorems={"correctness": theorems["correctness"]},
        tests=tuple(" ".join(test.split()) for test in _TEST.findall(parts.get("test_cases", ""))),
        free=("implementation",),
        reference=unfinished(skeleton),
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )
