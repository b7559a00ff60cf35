"""human-eval-lean files: `HumanEvalLean/HumanEval<N>.lean`, with the Python prompt in a comment and theorems in the text."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tracebench_veribench.lean.declarations import find_counterparts, find_supporting
from tracebench_veribench.lean.problem import LeanProblem, describe_obligations
from tracebench_veribench.lean.statements import find_theorems, is_trivial

_PROMPT = re.compile(r"## Prompt\s+```python3?\n(.*?)```", re.DOTALL)
_FILE = re.compile(r"HumanEval(\d+)\.lean")


def find_files(root: Path) -> list[Path]:
    """Return the problem files of a checkout, in the order of their numbers."""
    places = [p for folder in (root, root / "HumanEvalLean") if folder.is_dir() for p in folder.glob("HumanEval*.lean")]
    numbered = [(int(match.group(1)), p) for p in places if (match := _FILE.fullmatch(p.name))]
    return [p for _, p in sorted(numbered)]


def read_problem(path: Path) -> LeanProblem:
    """Read one file; required are the theorems that mention the Lean counterpart of the Python function.

    Raises:
        ValueError: when the file holds no Python prompt, or states no such theorem.
    """
    text = path.read_text(encoding="utf-8")
    prompt = _PROMPT.search(text)
    if prompt is None:
        raise ValueError(f"`{path}` holds no `## Prompt`")
    if "theorem" not in text and "lemma" not in text:
        raise ValueError(f"`{path}` states no theorem yet")
    functions = find_counterparts(text, prompt.group(1))
    required = {
        name: statement
        for name, statement in find_theorems(text).items()
        if not is_trivial(statement)
        and any(re.search(rf"(?<![\w.]){re.escape(f)}(?![\w'])", statement) for f in functions)
    }
    if not required:
        raise ValueError(f"`{path}` states no theorem of its function yet")
    given = find_supporting(text, required.values(), functions)
    return LeanProblem(
        name=path.stem,
        title=f"{functions[0]} ({path.stem})",
        category="humaneval",
        source="human_eval",
        prompt=f"Translate this Python function to Lean 4, as {' and '.join(f'`{f}`' for f in functions)}:\n"
        f"```python\n{prompt.group(1).strip()}\n```" + describe_obligations(required, given),
        theorems=required,
        given=given,
        free=functions,
        reference=text,
        digest=hashlib.sha256(text.encode()).hexdigest(),
    )
