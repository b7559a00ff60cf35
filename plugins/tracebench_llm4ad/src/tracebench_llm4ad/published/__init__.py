"""Heuristics as published, written from their papers' descriptions, and their published figures (`llm4ad.yaml`).

Each other module is the text of a candidate and is evaluated like one; none is imported.
"""

from __future__ import annotations

from importlib.resources import files


def published_program(file: str) -> str:
    """Return the source of the heuristic in `file`, such as `first_fit.py`."""
    return files(__package__).joinpath(file).read_text(encoding="utf-8")
