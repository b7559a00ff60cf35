"""What the specs name: for each family `NAME`, which builds its task, and `NAME_sizes`, which says how large it is."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from tracebench_fields.families import FAMILIES
from tracebench_fields.task import build, sizes_of

_SIZES = "_sizes"


def __getattr__(name: str) -> Callable[..., Any]:
    family = name.removesuffix(_SIZES)
    if family not in FAMILIES:
        raise AttributeError(name)
    return partial(sizes_of if name.endswith(_SIZES) else build, family)
