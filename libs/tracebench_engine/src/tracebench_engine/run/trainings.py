"""Which jobs of a run have only their scoring left: a runner that follows one that was killed does not train them again."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping

from tracebench_core.contracts import JobEnd
from tracebench_core.specs import JobSpec
from tracebench_runs.events import trained
from tracebench_runs.journal.journal import Journal, TrainedRecord
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.seal import seal_of

SCORING_RETRIES = 2
"""How often a scoring is tried again that was killed, hung or raised: training is sealed, and costs nothing more."""
log = logging.getLogger(__name__)


class Trainings:
    """The trainings of a run that are over."""

    def __init__(self, layout: RunLayout, journal: Journal, known: Mapping[str, TrainedRecord]) -> None:
        """`known` is what the journal tells of earlier runners."""
        self._layout = layout
        self._journal = journal
        self._known = dict(known)
        self._scorings: Counter[str] = Counter()

    def ended(self, job: JobSpec, *, how: str, attempt: str) -> None:
        """Keep that a job's training is over; `how` is empty where it said so itself."""
        seal = seal_of(self._layout.job(job.job_id).events)
        if seal is not None:
            record = self._known[job.job_id] = TrainedRecord(seal, how, attempt)
            self._journal.job_trained(job.job_id, record)

    def is_scored_again(self, end: JobEnd) -> bool:
        """Say whether a scoring that came to nothing is tried once more, in a fresh process, and then remember it."""
        job_id = end.order.job.job_id
        is_lost = end.exit in {"died", "timeout"} or (
            end.exit == "done" and not self._layout.job(job_id).results.exists()
        )
        if end.order.phase == "score" and end.exit == "done" and not is_lost:
            self._known.pop(job_id, None)  # nothing of it is tried again, and a run may have 100,000
        if end.order.phase != "score" or not is_lost or job_id not in self._known:
            return False
        self._scorings[job_id] += 1
        if self._scorings[job_id] > SCORING_RETRIES:
            return False
        log.warning(
            "job %s is scored again, for the %d. of %d times: %s",
            job_id, self._scorings[job_id], SCORING_RETRIES, end.detail,
        )  # fmt: skip
        return True

    def take_up(self, job: JobSpec) -> TrainedRecord | None:
        """Return a training that a job can go on from, with nothing after it in the job's log; None when it is to be trained."""
        record = self.set_back(job)
        if record is not None:
            log.warning("job %s was trained already and goes on with its scoring", job.job_id)
        return record

    def set_back(self, job: JobSpec) -> TrainedRecord | None:
        """Let a job's log end where its training did; return that, None where there is none."""
        record = self._known.get(job.job_id)
        if record is None:
            return None
        layout = self._layout.job(job.job_id)
        if not trained.is_sound(layout, job, record):
            del self._known[job.job_id]
            return None
        trained.set_back(layout, record)
        return record
