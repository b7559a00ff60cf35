"""Turns: model calls under way together, numbered by the task that makes them and not by their arrival."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

HEADER = "x-tracebench-turn"
"""Tells the gateway a call's place, as `section.offset`."""
LONGEST_NUMBER = 9
"""Digits of either number."""


class Place(NamedTuple):
    """Where a call stands among equal ones: `offset` calls after those that were made before its section began."""

    section: int
    offset: int


@dataclass(slots=True)
class Turn:
    """One task of a section, which makes its calls one after another."""

    section: int
    task: int
    tasks: int
    """How many the section has."""
    _asked: Counter[str] = field(default_factory=Counter)

    def place(self, request: str) -> Place:
        """Return the place of the next call with this content; the same whatever runs beside the task."""
        round_ = self._asked[request]
        self._asked[request] += 1
        return Place(self.section, round_ * self.tasks + self.task)


_CURRENT: ContextVar[Turn | None] = ContextVar("turn", default=None)


def current() -> Turn | None:
    """Return the turn that what happens now belongs to."""
    return _CURRENT.get()


@contextmanager
def take(turn: Turn) -> Iterator[None]:
    """Make the calls of the block those of a turn."""
    token = _CURRENT.set(turn)
    try:
        yield
    finally:
        _CURRENT.reset(token)


def read_place(text: str) -> Place | None:
    """Return the place that a header tells; None for anything else, which counts as a call of its own."""
    section, _, offset = text.partition(".")
    if all(n.isascii() and n.isdigit() and len(n) <= LONGEST_NUMBER for n in (section, offset)):
        return Place(int(section), int(offset))
    return None
