"""Which jobs an executor was given and has not ended yet: what it tells twice, or of what it was never given, is told to nobody."""

from __future__ import annotations

import logging

from tracebench_core.contracts import JobEnd
from tracebench_core.specs import JobOrder

log = logging.getLogger(__name__)


class Underway:
    """The jobs of a run that are with its executor, each in one of its phases."""

    def __init__(self) -> None:
        self._phases: dict[str, str] = {}

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
