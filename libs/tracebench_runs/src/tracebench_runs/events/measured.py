"""Measurements of a run that may be reused: each evaluation that may names, by digest, what was measured and what came of it.

An evaluation whose outcome is not what its digest says was damaged or edited, and is measured anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs.events import EvaluationDone
from tracebench_runs.storage.layout import JobLayout
from tracebench_runs.storage.regular import open_regular

DIGITS = 16
_DIGEST = re.compile(rb'"digest":"([0-9a-f]{%d})[0-9a-f]{%d}"' % (DIGITS, DIGITS))


class Place(NamedTuple):
    """Where a line lies."""

    file: Path
    offset: int
    size: int


class Found(NamedTuple):
    """An evaluation of before."""

    event: EvaluationDone
    source: str
    """The attempt that made it, by its path in the run directory."""


class Measured:
    """The reusable evaluations of some attempts; their logs are read at the first question, and of each only where it lies is held."""

    def __init__(self, attempts: Iterable[JobLayout]) -> None:
        self._attempts = tuple(attempts)
        self._places: dict[str, Place] | None = None

    def find(self, key: str) -> Found | None:
        """Return the first evaluation of what `key` stands for; None where there is none, or it is not what it was."""
        if self._places is None:
            self._places = {}
            for attempt in self._attempts:
                self._index(attempt.events)
        place = self._places.get(key)
        if place is None:
            return None
        with open_regular(place.file) as log:
            log.seek(place.offset)
            line = log.read(place.size)
        try:
            event = EvaluationDone.model_validate_json(line)
        except ValidationError:
            return None
        folder = place.file.parent
        return Found(event, f"{folder.parent.name}/{folder.name}") if event.digest == digest_of(key, event) else None

    def _index(self, events: Path) -> None:
        places, offset = self._places or {}, 0
        try:
            with open_regular(events) as log:
                for line in log:
                    if (found := _DIGEST.search(line)) is not None:
                        places.setdefault(found[1].decode(), Place(events, offset, len(line)))
                    offset += len(line)
        except FileNotFoundError:
            return
        self._places = places


def digest_of(key: str, event: EvaluationDone) -> str:
    """Return the digest of an evaluation that may be reused: `key`, which says what was measured, and what came of it."""
    outcome = event.example, event.split, event.score, event.status, event.metrics, event.feedback
    try:
        return key + content_hash(canonical_json(outcome))[:DIGITS] if key else ""
    except ValueError:  # what JSON or UTF-8 cannot hold reads back as something else
        return ""
