"""What happens in a job, as events: one method per kind, so that nobody else builds them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import JsonValue

from tracebench_core.specs import (
    BudgetState,
    Cage,
    Calibrated,
    Candidate,
    ExampleResult,
    JobSpec,
    JobStatus,
    Judge,
    ProposalCounts,
    Role,
    Split,
    SplitData,
    TaskSpec,
)
from tracebench_core.specs.events import (
    Activity,
    BestChanged,
    BudgetReached,
    Caged,
    CandidateSeen,
    ComparisonSet,
    DataKnown,
    Decision,
    EnvironmentUsed,
    ErrorRaised,
    EvaluationDone,
    Event,
    ExamplesKnown,
    Flagged,
    JobFinished,
    JobStarted,
    LLMCall,
    MetricLogged,
    Proposals,
    Scored,
    StepFinished,
    StepStarted,
    SuiteRecord,
    TrainingEnded,
)
from tracebench_engine.measure.models import Models
from tracebench_gateway import turns
from tracebench_runs.events.measured import digest_of
from tracebench_runs.meta.environment import runtime

Write = Callable[[Event], object]


@dataclass(slots=True)
class Answers:
    """How a role's model calls ended."""

    answered: int = 0
    failed: int = 0
    missed: int = 0
    """Of those that failed: in a replay, what its recording does not hold."""
    last_failure: str = ""

    def take(self, record: LLMCall) -> None:
        """Count a call."""
        self.answered += record.status == "ok"
        if record.status == "error":
            self.failed += 1
            self.missed += record.error.startswith("replay_miss")
            self.last_failure = record.error


class Recorder:
    """Writes the events of one job. Thread-safe; a step is that of the thread (or task) that began it, else the one begun last."""

    def __init__(self, write: Write, *, suite: str = "", last_call: int = 0, judge: Judge | None = None) -> None:
        """Model calls up to `last_call` are recorded already; `judge` is what the engine's scores come from."""
        self._judge = judge
        self._write = write
        self._suite = suite
        self._own_step: ContextVar[int | None] = ContextVar("step", default=None)
        self._open_steps: list[int] = []
        self._flags: set[str] = set()
        self._last_call = last_call
        self.answers: dict[Role, Answers] = {role: Answers() for role in get_args(Role)}
        """How the model calls of training were answered, by role."""
        self.proposed = dict.fromkeys(ProposalCounts.model_fields, 0)
        self._lock = threading.Lock()

    @property
    def current_step(self) -> int | None:
        """The step that what happens now belongs to."""
        own = self._own_step.get()
        return own if own is not None else (self._open_steps[-1] if self._open_steps else None)

    def started(
        self,
        job: JobSpec,
        *,
        versions: dict[str, JsonValue],
        task: TaskSpec,
        calibration: Calibrated | None = None,
        reads_budget: bool = False,
    ) -> None:
        """The job begins."""
        self._write(
            JobStarted(
                job_id=job.job_id,
                task=job.task_id,
                trainer=job.trainer_id,
                label=job.label,
                models=job.models,
                params=job.settings,
                seed=job.seed,
                budget=job.budget,
                mode=job.mode,
                versions=versions,
                objectives=task.objectives,
                worst_score=task.worst_score,
                aggregate=task.aggregate,
                reads_budget=reads_budget,
                self_reported=task.self_reported,
                content=task.content,
                runtime=runtime(),
                calibration=calibration,
            )
        )

    def candidate(self, candidate: Candidate, *, step: int | None = None) -> None:
        """A candidate was seen for the first time."""
        self._write(
            CandidateSeen(
                id=candidate.id,
                parents=candidate.parents,
                origin=candidate.origin,
                values=candidate.values,
                step=step,
            )
        )

    def evaluation(
        self,
        candidate: str,
        result: ExampleResult,
        *,
        by: Literal["trainer", "engine"] = "trainer",
        step: int | None = None,
    ) -> None:
        """A candidate was measured on one example."""
        event = EvaluationDone(
            candidate=candidate,
            split=result.split,
            example=result.example,
            score=result.feedback.score,
            status=result.feedback.status,
            metrics=result.feedback.metrics,
            feedback=result.feedback.text,
            seconds=result.seconds,
            by=by,
            step=step,
            reused=result.reused,
            reused_from=result.reused_from,
            raised=result.raised,
        )
        if result.key and not result.reused:
            event = event.model_copy(update={"digest": digest_of(result.key, event)})
        self._write(event)

    def best(self, candidate: str, score: float, used: BudgetState, *, step: int | None = None) -> None:
        """The archive has a new best, or the best a new mean."""
        self._write(BestChanged(candidate=candidate, score=score, used=used, step=step))

    @contextmanager
    def step(self, index: int) -> Iterator[None]:
        """A step begins, and ends with the block."""
        token = self._own_step.set(index)
        self._open_steps.append(index)
        self._write(StepStarted(index=index))
        try:
            yield
        finally:
            self._open_steps.remove(index)
            self._own_step.reset(token)

    def step_finished(
        self, index: int, *, score: float | None, best: float | None, seconds: float, used: BudgetState
    ) -> None:
        """A step ended."""
        self._write(StepFinished(index=index, score=score, best=best, seconds=seconds, used=used))

    def calls(self, models: Models) -> None:
        """Take over the model calls that the gateway metered since the last time; those of a turn wait for its section to end."""
        if turns.current() is None:
            self._take(models.records(self._last_call))

    def late_calls(self, models: Models) -> None:
        """Take over what training had called last; what an earlier scoring called stays with that one."""
        records = models.records(self._last_call)
        self._take([record for record in records if record.phase == "training"])
        self._last_call = max((record.call for record in records), default=self._last_call)

    def section(self, models: Models) -> None:
        """Take over the calls of a section: told in an order that does not depend on which was answered first."""
        records = models.records(self._last_call)
        ordered = sorted(records, key=lambda r: r.model_dump_json(exclude={"call", "seconds", "t", "mono"}))
        numbers = [record.call for record in records]
        self._take([r.model_copy(update={"call": n}) for r, n in zip(ordered, numbers, strict=True)])

    def _take(self, records: Sequence[LLMCall]) -> None:
        if not records:
            return
        with self._lock:
            for record in records:
                if record.call <= self._last_call:
                    continue  # another thread was told of it, too
                self._write(record)
                self._last_call = record.call
                if record.phase == "training":
                    self.answers[record.role].take(record)

    def decision(self, candidate: str, verdict: Literal["accepted", "rejected", "indecisive"], reason: str) -> None:
        """A trainer judged a candidate."""
        self._write(Decision(candidate=candidate, verdict=verdict, reason=reason))

    def metric(self, name: str, value: float) -> None:
        """A trainer logs a number."""
        self._write(MetricLogged(name=name, value=value, step=self.current_step))

    def proposals(self, *, asked: int, usable: int, duplicate: int, invalid: int) -> None:
        """A model was asked to propose, or an answer of it was judged."""
        for name, count in {"asked": asked, "usable": usable, "duplicate": duplicate, "invalid": invalid}.items():
            self.proposed[name] += count
        counts = Proposals(asked=asked, usable=usable, duplicate=duplicate, invalid=invalid, step=self.current_step)
        self._write(counts)

    def examples(self, *, train: Sequence[str], validation: Sequence[str]) -> None:
        """The task is open."""
        self._write(ExamplesKnown(train=tuple(train), validation=tuple(validation)))

    def comparison_set(self, examples: Sequence[str]) -> None:
        """Candidates are compared on these examples from now on."""
        self._write(ComparisonSet(examples=tuple(examples)))

    def flag(self, name: str, reason: str) -> None:
        """A reader must know something; told once for each name."""
        if name not in self._flags:
            self._flags.add(name)
            self._write(Flagged(name=name, reason=reason))

    def caged(self, name: str, cage: Cage) -> None:
        """A program is about to start, held like this."""
        self._write(Caged(name=name, cage=cage))

    def data(self, splits: Mapping[Split, SplitData]) -> None:
        """The engine is about to score on this data."""
        self._write(DataKnown(splits=dict(splits)))

    def activity(self, doing: str, done: int | None = None, total: int | None = None, *, notice: bool = False) -> None:
        """The job is doing something that takes a while."""
        self._write(Activity(doing=doing, done=done, total=total, notice=notice))

    def suite_record(self, name: str, data: Mapping[str, JsonValue], candidate: str, example: str) -> None:
        """A suite keeps something of an evaluation."""
        full = f"{self._suite}.{name}" if self._suite else name
        self._write(
            SuiteRecord(name=full, data=dict(data), candidate=candidate, example=example, step=self.current_step)
        )

    def environment(
        self,
        name: str,
        scope: Literal["run", "job", "evaluation"] | None,
        what: Literal["opened", "closed", "failed"],
        *,
        seconds: float = 0.0,
        reason: str = "",
    ) -> None:
        """An environment was opened or closed, or could not be."""
        self._write(EnvironmentUsed(name=name, scope=scope, what=what, seconds=round(seconds, 6), reason=reason))

    def trained(self, status: JobStatus, stop_reason: str, *, used: BudgetState, seconds: float) -> None:
        """Training is over, and the engine's own measurements follow."""
        self._write(TrainingEnded(status=status, stop_reason=stop_reason, used=used, seconds=seconds))

    def budget(self, axis: str, *, scope: str, cap: float | None, used: BudgetState) -> None:
        """A cap was reached."""
        self._write(BudgetReached(axis=axis, scope=scope, cap=cap, used=used))  # type: ignore[arg-type]  # checked by the model

    def error(self, type_: str, message: str, *, traceback: str, fatal: bool) -> None:
        """Something raised."""
        self._write(ErrorRaised(type=type_, message=message, traceback=traceback, fatal=fatal))

    def scored(
        self,
        what: Literal["initial", "best", "final", "finalist"],
        split: Split,
        *,
        candidate: str,
        score: float | None,
        metrics: dict[str, float],
        repeats: tuple[float, ...] = (),
    ) -> None:
        """The engine measured a candidate on a whole split."""
        self._write(
            Scored(
                what=what,
                split=split,
                candidate=candidate,
                score=score,
                metrics=metrics,
                repeats=repeats,
                judge=self._judge,
            )
        )

    def finished(self, status: JobStatus, stop_reason: str, *, used: BudgetState, seconds: float) -> None:
        """The job is over."""
        self._write(JobFinished(status=status, stop_reason=stop_reason, used=used, seconds=seconds))
