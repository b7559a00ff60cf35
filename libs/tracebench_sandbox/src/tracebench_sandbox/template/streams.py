"""The template's standard streams: its owner holds the first and is told on the second; neither is left to what it imports or forks."""

from __future__ import annotations

import json
import os
from typing import Any


def set_aside_stdin() -> int:
    """Return the descriptor that closes when the owner ends; 0 becomes `/dev/null`, which the children may keep."""
    owner = os.dup(0)
    _be_nothing(0, os.O_RDONLY)
    return owner


def set_aside_stdout() -> int:
    """Return the descriptor on which the owner is told; what modules print as they are imported goes where errors go."""
    told = os.dup(1)
    os.dup2(2, 1)
    return told


def tell(told: int, words: dict[str, Any]) -> None:
    """Tell the owner, once and for all; from now on nothing is printed."""
    os.write(told, json.dumps(words).encode() + b"\n")
    os.close(told)
    _be_nothing(1, os.O_RDWR)


def _be_nothing(fd: int, how: int) -> None:
    null = os.open(os.devnull, how)
    os.dup2(null, fd)
    os.close(null)
