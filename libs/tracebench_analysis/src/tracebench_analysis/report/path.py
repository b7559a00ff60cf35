"""How a job came to its best candidate: every one that led, with what it scored, when, its text, and the picture that its suite keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from tracebench_core.specs import Candidate
from tracebench_core.specs.events import BestChanged
from tracebench_runs.reading.reader import Run

LONGEST = 20_000
"""Characters of a candidate that are shown."""
MOST = 200
"""Candidates that are shown: the first, the last, and those between by equal steps."""


class Led(NamedTuple):
    """A candidate that was the best for a while."""

    candidate: str
    score: float
    evaluations: int
    text: str
    picture: str | bytes | None


class Path(NamedTuple):
    """A job's path."""

    job_id: str
    led: list[Led]
    """Those that are shown."""
    total: int
    """How many led."""
    initial: str
    """The candidate that was there first."""
    parent: tuple[str, str] | None
    """What the best candidate was made from, as id and text; None where that is not known."""
    best: tuple[str, str]


def path_of(run: Run, job_id: str, pictures: Mapping[str, str | bytes]) -> Path | None:
    """Return how a job came to its best candidate; None where it never measured one. `pictures` are by candidate.

    The last of the path is the leader of training; the best is who won the engine's own measurement, and may be another one.
    """
    candidates = {candidate.id: candidate for candidate in run.candidates_of(job_id)}
    points: dict[str, tuple[float, int]] = {}
    for event in run.events(job_id):
        if isinstance(event, BestChanged) and event.candidate in candidates:
            began = points.pop(event.candidate, (0.0, event.used.evaluations))[1]
            points[event.candidate] = event.score, began
    if not points:
        return None
    names = [*points]
    count = len(names)
    names = [names[round(i * (len(names) - 1) / (MOST - 1))] for i in range(MOST)] if len(names) > MOST else names
    led = [Led(name, *points[name], text_of(candidates[name]), pictures.get(name)) for name in names]
    best = candidates.get(run.results[job_id].best_candidate or names[-1], candidates[names[-1]])
    parent = candidates.get(best.parents[0]) if best.parents else None
    made_from = None if parent is None else (parent.id, text_of(parent))
    return Path(job_id, led, count, next(iter(candidates)), made_from, (best.id, text_of(best)))


def text_of(candidate: Candidate) -> str:
    """Return a candidate as text: its only value as it is, several with their names."""
    if len(candidate.values) == 1:
        (value,) = candidate.values.values()
        whole = value if isinstance(value, str) else json.dumps(value)
    else:
        whole = "\n".join(f"{k} = {v if isinstance(v, str) else json.dumps(v)}" for k, v in candidate.values.items())
    shown = whole if len(whole) <= LONGEST else f"{whole[:LONGEST]}\n… {len(whole) - LONGEST} more characters"
    return shown.encode("utf-8", "replace").decode()  # half of a character cannot be written
