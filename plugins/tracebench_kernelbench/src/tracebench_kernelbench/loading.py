"""The loaders of the suite's tasks: `loading.<name>` builds the task of the problem of that name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tracebench_kernelbench.options import Options
from tracebench_kernelbench.own import PROBLEMS
from tracebench_kernelbench.task import KernelTask


def __getattr__(name: str) -> Callable[..., KernelTask]:
    if name not in PROBLEMS:
        raise AttributeError(f"there is no problem `{name}`")
    return partial(_open, name)


def _open(name: str, **options: Any) -> KernelTask:
    return KernelTask(PROBLEMS[name], Options(**options))
