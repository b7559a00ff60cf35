"""The command line that others see of this process: it is written where the kernel reads it, over the one it was started with."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_ARG_START, _ARG_END = 45, 46
"""Fields of /proc/self/stat behind the name, counted from 0 (proc(5): 48 and 49 from 1)."""


def set_title(argv: Sequence[str]) -> None:
    """Write a command line over that of this process, as far as the place reaches. Nothing depends on it but the eye."""
    with suppress(OSError, ValueError, IndexError):
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        start, end = int(fields[_ARG_START]), int(fields[_ARG_END])
        if 0 < start < end:
            text = b"\0".join(arg.encode(errors="surrogateescape") for arg in argv)[: end - start - 1]
            ctypes.memmove(start, text.ljust(end - start, b"\0"), end - start)
