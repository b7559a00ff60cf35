"""Writes the trusted files that are laid beside an answer after it has compiled: the reference, and the hidden tests.

Both state the same tests: in the reference they mean what the problem says, beside the answer they are proven of its definitions. A test
counts where the two compiled statements are the same term, so nothing that the answer declares can change what it asks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracebench_veribench.lean.problem import LeanProblem

ALLOWED_AXIOMS = frozenset({"propext", "Classical.choice", "Quot.sound"})
ANSWER, TESTED, REFERENCE = "Candidate", "Asked", "Reference"
"""The modules: an answer, the tests that import it, and what both are compared with."""
_ATTEMPTS = "first | rfl | decide | (simp; done) | sorry"


@dataclass(frozen=True, slots=True)
class Questions:
    """What is asked of an answer: names, and the texts of the two files."""

    tests: tuple[str, ...]
    theorems: tuple[str, ...]
    reference: str
    """Empty where there is nothing to compare with."""
    tested: str


def write_questions(problem: LeanProblem, theorems: Sequence[str], nonce: str) -> Questions:
    """Return the questions on an answer's theorems; the names of tests hold the nonce."""
    tests = tuple(f"asked_{nonce}_{i}" for i in range(len(problem.tests)))
    stated = [f"theorem {name} : ({test})" for name, test in zip(tests, problem.tests, strict=True)]
    proven = [f"import {ANSWER}", *(f"{one} := by {_ATTEMPTS}" for one in stated)]
    wanted = [problem.reference, *(f"{one} := sorry" for one in stated)] if problem.reference else []
    return Questions(tests, tuple(theorems), _text(wanted), _text(proven))


def _text(parts: Sequence[str]) -> str:
    return "\n".join(parts) + "\n" if parts else ""
