"""Appends trusted questions to a Lean file and reads the checker's messages back.

Every question is a theorem of ours followed by `#print axioms`: only a message that names it and lists its axioms counts, so silence is
never success.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tracebench_veribench.diagnostics import Diagnostic
from tracebench_veribench.lean.problem import LeanProblem

ALLOWED_AXIOMS = frozenset({"propext", "Classical.choice", "Quot.sound"})
_AXIOMS = re.compile(r"^'([^']+)' (?:does not depend on any axioms|depends on axioms: \[([^\]]*)\])", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Script:
    """A candidate with its questions."""

    text: str
    candidate_lines: int
    """Messages up to this line are about the candidate itself."""
    asked: tuple[str, ...]
    """Names of the theorems that stand for the hidden tests."""


def write_script(problem: LeanProblem, candidate: str, theorems: Sequence[str], nonce: str) -> Script:
    """Return the file to check: the candidate, then one question a hidden test and one a theorem."""
    lines = candidate.rstrip("\n").splitlines()
    questions: list[str] = []
    asked = tuple(f"asked_{nonce}_{i}" for i in range(len(problem.tests)))
    for name, test in zip(asked, problem.tests, strict=True):
        questions += [
            f"theorem _root_.{name} : ({test}) := by first | rfl | decide | (simp; done)",
            f"#print axioms _root_.{name}",
        ]
    questions += [f"#print axioms {theorem}" for theorem in theorems]
    return Script("\n".join([*lines, "", *questions]) + "\n", len(lines), asked)


def read_axioms(diagnostics: Sequence[Diagnostic], script: Script) -> Mapping[str, tuple[str, ...]]:
    """Return per name what it assumes, as the checker's messages after the candidate say."""
    found: dict[str, tuple[str, ...]] = {}
    for d in diagnostics:
        if (
            d.line > script.candidate_lines
            and d.severity == "information"
            and (match := _AXIOMS.match(d.message.strip()))
        ):
            found[match.group(1).removeprefix("_root_.")] = tuple(
                a.strip() for a in (match.group(2) or "").split(",") if a.strip()
            )
    return found
