"""What happens in a job, as events: one method per kind, so that nobody else builds them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Literal

from pydantic import JsonValue

from tracebench_core.engine.models import Models
from tracebench_core.specs import BudgetState, Candidate, ExampleResult, JobSpec, JobStatus, Objective, Split
from tracebench_core.specs.events import (
    BestChanged,
    BudgetReached,
    CandidateSeen,
    Decision,
    ErrorRaised,
    EvaluationDone,
    Event,
    JobFinished,
    JobStarted,
    MetricLogged,
    Scored,
    StepFinished,
    StepStarted,
)

Write = Callable[[Event], object]


class Recorder:
    """Writes the events of one job. Thread-safe: events of parallel evaluations are written by the thread that collects them."""

    def __init__(self, write: Write) -> None:
        self._write = write
        self._step: int | None = None
        self._last_call = 0
        self._lock = threading.Lock()

    def started(self, job: JobSpec, *, versions: dict[str, JsonValue], objectives: tuple[Objective, ...]) -> None:
        """The job begins."""
        self._write(
            JobStarted(
                job_id=job.job_id,
                task=job.task_id,
                trainer=job.trainer_id,
                params=job.settings,
                seed=job.seed,
                budget=job.budget,
                mode=job.mode,
                versions=versions,
                objectives=objectives,
            )
        )

    def candidate(self, candidate: Candidate) -> None:
        """A candidate was seen for the first time."""
        self._write(
            CandidateSeen(
                id=candidate.id,
                parents=candidate.parents,
                origin=candidate.origin,
                values=candidate.values,
                step=self._step,
            )
        )

    def evaluation(
        self, candidate: str, result: ExampleResult, *, by: Literal["trainer", "engine"] = "trainer"
    ) -> None:
        """A candidate was measured on one example."""
        self._write(
            EvaluationDone(
                candidate=candidate,
                split=result.split,
                example=result.example,
                score=result.feedback.score,
                status=result.feedback.status,
                metrics=result.feedback.metrics,
                feedback=result.feedback.text,
                seconds=result.seconds,
                by=by,
                step=self._step,
            )
        )

    def best(self, candidate: str, score: float, used: BudgetState) -> None:
        """The archive has a new best, or the best a new mean."""
        self._write(BestChanged(candidate=candidate, score=score, used=used, step=self._step))

    def step_started(self, index: int) -> None:
        """A step begins."""
        self._step = index
        self._write(StepStarted(index=index))

    def step_finished(
        self, index: int, *, score: float | None, best: float | None, seconds: float, used: BudgetState
    ) -> None:
        """A step ended."""
        self._write(StepFinished(index=index, score=score, best=best, seconds=seconds, used=used))
        self._step = None

    def calls(self, models: Models) -> None:
        """Take over the model calls that the gateway metered since the last time."""
        with self._lock:
            for record in models.records(self._last_call):
                self._write(record)
                self._last_call = record.call

    def decision(self, candidate: str, verdict: Literal["accepted", "rejected", "indecisive"], reason: str) -> None:
        """A trainer judged a candidate."""
        self._write(Decision(candidate=candidate, verdict=verdict, reason=reason))

    def metric(self, name: str, value: float) -> None:
        """A trainer logs a number."""
        self._write(MetricLogged(name=name, value=value, step=self._step))

    def budget(self, axis: str, *, scope: str, cap: float | None, used: BudgetState) -> None:
        """A cap was reached."""
        self._write(BudgetReached(axis=axis, scope=scope, cap=cap, used=used))  # type: ignore[arg-type]  # checked by the model

    def error(self, type_: str, message: str, *, traceback: str, fatal: bool) -> None:
        """Something raised."""
        self._write(ErrorRaised(type=type_, message=message, traceback=traceback, fatal=fatal))

    def scored(
        self,
        what: Literal["initial", "best", "final"],
        split: Split,
        *,
        candidate: str,
        score: float | None,
        metrics: dict[str, float],
    ) -> None:
        """The engine measured a candidate on a whole split."""
        self._write(Scored(what=what, split=split, candidate=candidate, score=score, metrics=metrics))

    def finished(self, status: JobStatus, stop_reason: str, *, used: BudgetState, seconds: float) -> None:
        """The job is over."""
        self._write(JobFinished(status=status, stop_reason=stop_reason, used=used, seconds=seconds))
