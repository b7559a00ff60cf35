"""What the two task kinds need of a prover: a language, a way to judge a file, and what a problem tells the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tracebench_core.contracts import Context
from tracebench_veribench.stages import Verdict


@dataclass(frozen=True, slots=True)
class Assignment:
    """One problem as a task sees it: what may be told, and how an answer is judged."""

    name: str
    prompt: str
    verify: Callable[[str, Context], Verdict]
    requirements: Mapping[str, str]
    """Required theorems: name to statement. For the optional judge."""
    skeleton: str


@dataclass(frozen=True, slots=True)
class Language:
    """How answers are written."""

    name: str
    """Also the label of a code block: `coq` or `lean`."""
    title: str


COQ = Language("coq", "Coq 8.16")
LEAN = Language("lean", "Lean 4")
