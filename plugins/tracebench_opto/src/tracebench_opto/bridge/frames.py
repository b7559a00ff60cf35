"""Look up a frame's module without going through every module there is.

opto asks `inspect` for the caller's stack for each of the hundred operators that it wraps on import. `inspect.getmodule` searches
`sys.modules` anew for every frame, which is most of the time that importing opto takes; a frame's own globals name its module at once.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType, TracebackType
from typing import Any


@contextmanager
def quick_frames() -> Iterator[None]:
    """Use the direct look-up while the block runs; nothing else may import in other threads meanwhile."""
    slow = inspect.getmodule

    def quick(thing: Any, _filename: str | None = None) -> ModuleType | None:
        if isinstance(thing, TracebackType):
            thing = thing.tb_frame
        if isinstance(thing, FrameType):
            return sys.modules.get(thing.f_globals.get("__name__", ""))
        if isinstance(thing, CodeType):
            return None
        return slow(thing, _filename)

    inspect.getmodule = quick  # type: ignore[assignment]  # the first argument has the name of a builtin there
    try:
        yield
    finally:
        inspect.getmodule = slow
