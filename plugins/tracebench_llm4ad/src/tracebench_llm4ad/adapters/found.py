"""The loaders that specs name: `tracebench_llm4ad.adapters.found:task_<key>` builds the task of that key of the configured root."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tracebench_llm4ad.adapters.catalog import found_as


def __getattr__(name: str) -> Callable[..., Any]:
    found = found_as(name)
    if found is None:
        raise AttributeError(f"the root holds no task `{name}`")
    from tracebench_llm4ad.adapters.task import ForeignTask  # noqa: PLC0415 - listing needs none of it

    return partial(ForeignTask.build, found)
