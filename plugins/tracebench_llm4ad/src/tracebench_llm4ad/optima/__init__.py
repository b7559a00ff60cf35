"""Programs that solve a generated case of CO-Bench to its optimum, for calibrations: what reaches the end of the scale must be told as 1.

Each module is the text of a candidate, named as the task without its ending; none is imported.
"""

from __future__ import annotations

from importlib.resources import files

ENDING = "_co_bench"


def optimal_program(name: str) -> str:
    """Return the source for a task such as `optimization/co_bench/set_covering_co_bench`; empty where there is none."""
    place = files(__package__).joinpath(f"{name.rpartition('/')[2].removesuffix(ENDING)}.py")
    return place.read_text(encoding="utf-8") if place.is_file() else ""
