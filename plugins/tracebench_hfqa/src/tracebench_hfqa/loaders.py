"""What the specs name: for each task a loader and a counter of its rows, made when it is asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

from tracebench_hfqa.state import entries

TOKENS = {"multiobjective_gsm8k": ("gsm8k", None), "multiobjective_bbeh": ("bbeh", "boolean_expressions")}
"""Tasks of two objectives, by name: the entry and the subtask whose rows they ask."""


def attribute_of(name: str, what: str = "build") -> str:
    """Return the attribute of this module for the task `name`: letters, digits and `_`, one name each."""
    return f"{what}_" + re.sub(r"\W", lambda m: f"_{ord(m[0]):x}_", name)


def __getattr__(attribute: str) -> Callable[..., Any]:
    if not attribute.startswith(("build_", "sizes_")):  # `from … import` asks for `__path__`, too
        raise AttributeError(attribute)
    from tracebench_hfqa import task  # noqa: PLC0415 - listing tasks builds none

    for name, (entry, subtask) in {**named(), **TOKENS}.items():
        if attribute == attribute_of(name):
            return partial(task.build_with_tokens if name in TOKENS else task.build, entry, subtask)
        if attribute == attribute_of(name, "sizes"):
            return partial(task.sizes_with_tokens if name in TOKENS else task.sizes_of, entry, subtask)
    raise AttributeError(f"no task file declares what `{attribute}` would build")


def named() -> dict[str, tuple[str, str | None]]:
    """Return every declared task's name, with its entry and subtask."""
    return {
        (f"{entry.id}/{subtask}" if subtask else entry.id): (entry.id, subtask)
        for entry in entries().values()
        for subtask in (entry.subtasks or (None,))
    }
