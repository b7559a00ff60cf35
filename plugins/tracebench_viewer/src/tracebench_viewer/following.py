"""How far the jobs under way are: their events, read on from where they were left, so that a look each second costs what is new."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tracebench_core.specs import JobSpec
from tracebench_engine.api.records import JobProgress, RunLayout

KEPT = 64
"""Jobs that are followed at a time."""
HEAD = 4096
"""Bytes in which a log's first time stands."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How far one job is. Amounts are those of training; None where a price or a cap is not known."""

    job: JobSpec
    evaluations: float | None
    best: float | None
    llm_calls: float | None
    tokens: float | None
    usd: float | None
    seconds: float | None
    """Since its first event."""
    share: float | None
    """Of its budget, from 0 to 1, on the axis that is furthest."""
    left: float | None
    """Seconds until its budget is used at this pace."""
    doing: str


class Followed:
    """The jobs that are looked at, each with its place in its log. Thread-safe; one for all sessions."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: OrderedDict[Path, tuple[JobProgress, float | None]] = OrderedDict()

    def paces(self, layout: RunLayout, jobs: Iterable[JobSpec]) -> list[Pace]:
        """Return how far jobs are now."""
        with self._lock:
            return [self._pace(layout.job(job.job_id).events, job) for job in jobs]

    def _pace(self, events: Path, job: JobSpec) -> Pace:
        progress, began = self._jobs.pop(events, (None, None))
        if progress is None or not _goes_on(progress, events):
            progress, began = JobProgress(job, events), None
        began = _began(events) if began is None else began
        self._jobs[events] = progress, began
        while len(self._jobs) > KEPT:
            self._jobs.popitem(last=False)
        progress.read()
        seconds = None if began is None else max(0.0, time.time() - began)
        share = progress.share_at(seconds or 0.0)
        left = None if not share or seconds is None else seconds * (1 - share) / share
        used = progress.used
        amounts = (used["evaluations"], progress.best, used["llm_calls"], used["tokens"], used["usd"])
        return Pace(job, *amounts, seconds, share, left, progress.doing)


def _goes_on(progress: JobProgress, events: Path) -> bool:
    """Tell whether a log is still the one that was read: a job that is run again begins a new one."""
    try:
        return events.stat().st_size >= progress.read_until
    except OSError:
        return True


def _began(events: Path) -> float | None:
    """Return when a log's first event was written, as seconds since 1970."""
    try:
        with events.open("rb") as file:
            head = file.read(HEAD)
        return datetime.fromisoformat(head.split(b'"t":"', 1)[1].split(b'"', 1)[0].decode()).timestamp()
    except (OSError, IndexError, ValueError):
        return None
