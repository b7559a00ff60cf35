"""Who asks: model calls under way together are numbered by the task that makes them, and named by the evaluation, not told by arrival."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import NamedTuple

from tracebench_core.ids import canonical_json, content_hash

HEADER = "x-tracebench-turn"
"""Tells the gateway a call's place, as `section.offset`."""
ASKER_HEADER = "x-tracebench-asker"
"""Tells the gateway which evaluation makes a call; heeded from the engine alone."""
KEY_HEADER = "idempotency-key"
"""Names a call, by the same text when it is asked again because its answer was lost; any caller may send it, as some SDKs do."""
LONGEST_KEY = 100
TRAINING = "-training"
"""Ends the name of an evaluation that a trainer asked for: scoring measures the same candidate on the same example once more."""
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


_ASKER: ContextVar[str] = ContextVar("asker", default="")
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


def read_key(text: str) -> str:
    """Return the key that a header tells; empty for what is too long or not plain."""
    return text if len(text) <= LONGEST_KEY and text.isascii() and text.isprintable() else ""


@contextmanager
def asking_for(candidate: str, example: str) -> Iterator[None]:
    """Make the calls of the block those of the evaluation of a candidate on an example."""
    token = _ASKER.set(content_hash(canonical_json([candidate, example]))[:16])
    try:
        yield
    finally:
        _ASKER.reset(token)


def asker() -> str:
    """Return what names the evaluation that this thread asks for; empty where none does."""
    return _ASKER.get()
