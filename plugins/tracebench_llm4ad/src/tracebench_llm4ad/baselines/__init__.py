"""A simple known heuristic for each task, as a program of its own: an anchor between starting program and bound.

Each module is the text of a candidate and is evaluated like one; none is imported. `answers_of_<name>` returns it as the answer that a
task ships (`TaskSpec.answers`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

ANSWERS = "answers_of_"


def load_baseline(name: str) -> str:
    """Return the source of the heuristic for the task `name`, such as `optimization/tsp_construct`."""
    return files(__package__).joinpath(f"{name.rpartition('/')[2].lower()}.py").read_text(encoding="utf-8")


def __getattr__(name: str) -> Callable[[Mapping[str, Any]], list[dict[str, str]]]:
    task = name.removeprefix(ANSWERS)
    if task == name or not files(__package__).joinpath(f"{task}.py").is_file():
        raise AttributeError(name)
    from tracebench_llm4ad.code_task import PARAMETER  # noqa: PLC0415 - imports numpy, which a listing has no use for

    return lambda _options: [{PARAMETER: load_baseline(task)}]
