"""Finish a job whose process was ended from outside: score the best that its events hold, and record how it ended."""

from __future__ import annotations

from collections.abc import Sequence

from tracebench_core.engine.job import Doors, build_scorer, open_job_task, record_error
from tracebench_core.engine.models import Models
from tracebench_core.engine.recorder import Recorder
from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import BudgetState, Candidate, JobOrder, JobResult, JobSpec, JobStatus
from tracebench_core.specs.events import BestChanged, BudgetReached, CandidateSeen, EvaluationDone, Event, JobFinished
from tracebench_core.store import files
from tracebench_core.store.blobs import BlobStore
from tracebench_core.store.eventlog import read_events
from tracebench_core.store.layout import JobLayout
from tracebench_core.store.meta import write_job_meta
from tracebench_core.store.reduce import reduce_job
from tracebench_core.store.results import write_result
from tracebench_core.store.states import write_states
from tracebench_core.store.writer import EventWriter


class Leftover:
    """What an ended process of a job left in its events."""

    def __init__(self, events: Sequence[Event], blobs: BlobStore) -> None:
        self.candidates: dict[str, Candidate] = {}
        self.best = self.final = "c0"
        self.evaluations = 0
        self.seconds = 0.0
        self.finished = False
        self.spent: BudgetReached | None = None
        for event in events:
            self.seconds = max(self.seconds, event.mono)
            match event:
                case CandidateSeen():
                    self.candidates[event.id] = Candidate(id=event.id, values=blobs.expand(event.values))
                case EvaluationDone(by="trainer"):
                    self.final = event.candidate
                    self.evaluations += 1
                case BestChanged():
                    self.best = event.candidate
                case BudgetReached():
                    self.spent = event
                case JobFinished():
                    self.finished = True

    def end(self, ended: str) -> tuple[JobStatus, str]:
        """Return status and reason of a job whose process ended so; one that was cut off from a spent budget ended with that."""
        if ended == "timeout":
            return "timeout", "timeout"
        if self.spent is None:
            return "failed", "error"
        axis = self.spent.axis
        return ("ok", f"budget:{axis}") if self.spent.scope == "job" else ("cancelled", f"run budget:{axis}")

    def used(self, models: Models) -> BudgetState:
        """Return what the ended process had used."""
        usage = models.used()
        return BudgetState(
            evaluations=self.evaluations,
            llm_calls=usage.llm_calls,
            tokens=usage.tokens,
            usd=usage.usd,
            seconds=self.seconds,
        )


def finish_job(order: JobOrder, doors: Doors, leftover: Leftover) -> None:
    """Score the best candidate of a job that ran out of time, and write `job_finished`."""
    if leftover.finished:
        return
    doors.recorder.calls(doors.models)
    status, reason = leftover.end(order.ended)
    if status == "failed":
        doors.recorder.error("JobDied", order.ended, traceback="", fatal=True)
    if "c0" in leftover.candidates:
        try:
            opened = open_job_task(order.job, doors.host)
            build_scorer(order.job, doors, opened).score(
                initial=leftover.candidates["c0"],
                best=leftover.candidates[leftover.best],
                final=leftover.candidates[leftover.final],
            )
        except (Exception, BudgetExhausted) as err:  # noqa: BLE001 - a score that cannot be had is a missing score
            record_error(doors.recorder, err, fatal=False)
    doors.recorder.finished(status, reason, used=leftover.used(doors.models), seconds=leftover.seconds)


def conclude(layout: JobLayout, job: JobSpec, *, events: Sequence[Event]) -> JobResult:
    """Reduce a job's events to its states, its metadata and its result, in this order. Flushing is the commit's."""
    write_states(layout, events, BlobStore(layout.blobs))
    result = reduce_job(events, job=job)
    write_job_meta(layout, job, status=result.status)
    write_result(layout, result, durable=False)
    return result


def conclude_lost(layout: JobLayout, job: JobSpec, *, detail: str) -> JobResult:
    """End the log of a job that nobody else could end, and reduce it."""
    files.make_dir(layout.path)
    writer = EventWriter(layout)
    recorder = Recorder(writer.write)
    if not any(isinstance(event, JobFinished) for event in read_events(layout).events):
        recorder.error("JobDied", detail, traceback="", fatal=True)
        recorder.finished("failed", "error", used=BudgetState(), seconds=0.0)
    writer.close(durable=False)
    return conclude(layout, job, events=read_events(layout).events)
