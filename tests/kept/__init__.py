"""What stays from release to release, as text: what is declared, what tasks are, what trainers do, what commands and libraries say."""

from __future__ import annotations

from importlib import import_module

from tests.kept.store import Said

KINDS = (
    "declared", "tasks", "courses", "costs", "reading", "configs", "comparisons", "curves", "logs", "damages", "stored", "core",
    "wires", "pages", "answers", "sums",
)  # fmt: skip
"""What is kept; for each there is a module here, with a function of that name. They need different libraries."""


def now(kind: str) -> Said:
    """Return what of a kind is said now, by section."""
    said: Said = getattr(import_module(f"tests.kept.{kind}"), kind)()
    return said
