"""Which jobs an executor was given and has not ended yet, and what broke under them.

What it tells twice, or of what it was never given, is told to nobody. Where something that a job stands on ended under it, its death may
have passed for a measurement.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from tracebench_core.contracts import JobEnd
from tracebench_core.specs import JobOrder
from tracebench_engine.run.trainings import Trainings
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout

log = logging.getLogger(__name__)
MOST_BREAKS = 3
"""How often what broke under a job is a reason to run it again; after that it may be the job that breaks it."""


class Underway:
    """The jobs of a run that are with its executor, each in one of its phases."""

    def __init__(self) -> None:
        self._phases: dict[str, str] = {}

    @property
    def jobs(self) -> Collection[str]:
        """Their ids."""
        return self._phases.keys()

    def begins(self, order: JobOrder) -> None:
        """A job goes to the executor."""
        self._phases[order.job.job_id] = order.phase

    def is_news(self, end: JobEnd) -> bool:
        """Say whether an end is told for the first time, of what is under way, and then remember it."""
        job_id = end.order.job.job_id
        phase = self._phases.get(job_id)
        is_trained = end.exit == "trained"
        if phase is None or (is_trained and phase != "train"):
            log.warning("an end of job %s (%s) is told again, or was never begun, and is left out", job_id, end.exit)
            return False
        if is_trained:
            self._phases[job_id] = "score"
        else:
            del self._phases[job_id]
        return True


class SpoiltError(Exception):
    """What a job left may hold deaths in the place of measurements."""


@dataclass(frozen=True, slots=True)
class Spoilt:
    """The end of a job that is given up; see `JobEnd`."""

    order: JobOrder
    detail: str
    is_trained: bool
    """Its training is believed, and nothing else of its files."""
    exit: Literal["died"] = "died"


class Breaks:
    """Counts what broke under each job."""

    def __init__(self, layout: RunLayout) -> None:
        self._layout = layout
        self._counts: Counter[str] = Counter()

    def is_run_again(self, job_id: str) -> bool:
        """Say whether a job is run again under which something broke, and then forget what its scoring kept."""
        self._counts[job_id] += 1
        files.remove(self._layout.job(job_id).scoring)
        if self._counts[job_id] > MOST_BREAKS:
            return False
        log.warning("job %s is run again: what it stood on died under it", job_id)
        return True

    def must_wait(self, job_id: str, underway: Collection[str]) -> bool:
        """Say whether a job is not begun beside what is under way: on its last chance a job runs alone, so that no other breaks it."""
        is_asked = bool(underway and self._counts)  # a run may have hundreds under way
        return is_asked and any(self._counts[other] >= MOST_BREAKS for other in [job_id, *underway])

    def give_up(self, end: JobEnd, trainings: Trainings) -> Spoilt:
        """Return the end of a job under which something broke each time: it is `unscored` if its training is sealed, else `failed`."""
        job = end.order.job
        words = (
            "what it stands on (a sandbox's server, or what holds its environments) ended under it"
            f" {self._counts[job.job_id]} times, and it may be the job that ends it"
        )
        return Spoilt(end.order, words, is_trained=trainings.set_back(job) is not None)
