"""A simple known heuristic for each task, as a program of its own: an anchor between starting program and bound.

Each module is the text of a candidate and is evaluated like one; none is imported.
"""

from __future__ import annotations

from importlib.resources import files


def load_baseline(name: str) -> str:
    """Return the source of the heuristic for the task `name`, such as `optimization/tsp_construct`."""
    return files(__package__).joinpath(f"{name.rpartition('/')[2].lower()}.py").read_text(encoding="utf-8")
