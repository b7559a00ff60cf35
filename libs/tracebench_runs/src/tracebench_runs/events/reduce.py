"""The one pure function from events to a job's result: files, terminal, viewer and report all use it."""

from __future__ import annotations

import marshal
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any

from tracebench_core import averages, money
from tracebench_core.errors import RunDirError
from tracebench_core.ids import suite_of
from tracebench_core.specs import (
    Axis,
    Budget,
    BudgetState,
    Cage,
    ErrorInfo,
    FeedbackStatus,
    FrontPoint,
    Gain,
    JobResult,
    JobSpec,
    Judge,
    Objective,
    ProposalCounts,
    Raised,
    RaisedCount,
    Split,
    SplitData,
    StepResult,
)
from tracebench_core.specs.events import (
    BestChanged,
    Caged,
    CandidateSeen,
    DataKnown,
    ErrorRaised,
    EvaluationDone,
    Event,
    Flagged,
    JobFinished,
    JobStarted,
    LLMCall,
    Proposals,
    Scored,
    StepFinished,
    TrainingEnded,
)
from tracebench_runs.events.many import Numbers, Texts
from tracebench_runs.events.metering import Meter

CUT_SHORT = ErrorInfo(
    type="CutShort", message="the job's log ends without `job_finished`: its process ended before it could say how"
)
AMOUNTS = attrgetter(*BudgetState.model_fields)
"""What was used of each axis, in the table's order."""


class Reducer:
    """Takes events one by one; `result` may be asked for at any time, also in the middle of a job.

    The same events give the same result, byte for byte. `score_val_*` are the engine's own `scored` events on validation, or on train
    where the task has no validation split; `score_test*` those on test. A log without `job_finished` is a failed job. `job` says whose
    events these are when `job_started` is not among them: its process may die before it can write.
    """

    def __init__(self, job: JobSpec | None = None) -> None:
        self._start = _start_of(job) if job is not None else None
        self._end: JobFinished | None = None
        self._last: Event | None = None
        self._error: ErrorRaised | None = None
        self._best: BestChanged | None = None
        self._steps = Texts()
        """What each has, packed: a job may take hundreds of thousands."""
        self._seen = Numbers()
        self._seen_in_step: list[int | None] = []
        """By the number of the candidate."""
        self._scored: dict[tuple[str, str], Scored] = {}
        self._trained: TrainingEnded | None = None
        self._proposals = dict.fromkeys(ProposalCounts.model_fields, 0)
        self._flags: dict[str, str] = {}
        self._data: dict[Split, SplitData] = {}
        self._statuses: Counter[FeedbackStatus] = Counter()
        self._raised: Counter[Raised] = Counter()
        self._cages: dict[str, Cage] = {}
        self._judge: Judge | None = None
        self._meter = Meter()
        self._front = Front(())

    @property
    def complete(self) -> bool:
        """Whether the log holds its last event."""
        return self._end is not None

    def add(self, event: Event) -> None:
        """Take the next event."""
        self._last = event
        match event:
            case JobStarted():
                self._start = event
                self._front = Front(event.objectives)
            case JobFinished():
                self._end = event
            case ErrorRaised():
                if self._error is None or event.fatal or not self._error.fatal:
                    self._error = event
            case EvaluationDone():
                self._meter.add_evaluation(event)
                self._front.add(event)
                if event.by == "trainer":
                    self._statuses[event.status] += 1
                    self._raised.update([event.raised] if event.raised is not None else [])
            case LLMCall():
                self._meter.add_call(event)
            case _:
                self._add_progress(event)

    def _add_progress(self, event: Event) -> None:
        match event:
            case BestChanged():
                self._best = event
            case CandidateSeen():
                self._see(event)
            case StepFinished():
                spent = AMOUNTS(event.used)
                self._steps.append(marshal.dumps((event.index, event.score, event.best, event.seconds, spent)))
            case Scored():
                self._scored[event.what, event.split] = event
                self._judge = event.judge or self._judge
            case Proposals():
                self._proposals = {n: self._proposals[n] + getattr(event, n) for n in self._proposals}
            case Flagged():
                self._flags[event.name] = event.reason
            case Caged():
                self._cages[event.name] = event.cage
            case TrainingEnded():
                self._trained = event
            case DataKnown():
                self._data = event.splits

    def _see(self, event: CandidateSeen) -> None:
        _, new = self._seen.add(event.id)
        if new:
            self._seen_in_step.append(event.step)

    def steps(self) -> Iterator[StepResult]:
        """Yield the steps that were taken so far, made one after another."""
        for number in range(len(self._steps)):
            index, score, best, seconds, spent = marshal.loads(self._steps[number])  # noqa: S302 - bytes that were made here
            used = BudgetState(**dict(zip(BudgetState.model_fields, spent, strict=True)))
            yield StepResult(index=index, score=score, best=best, seconds=seconds, used=used)

    def result(self, *, with_steps: bool = True) -> JobResult:
        """Reduce what was taken so far; without steps they are left to `steps`.

        Raises:
            RunDirError: when it is not known whose result this would be.
        """
        start, end = self._start, self._end or self._trained
        if start is None:
            raise RunDirError("the job's log has no `job_started`")
        seconds = end.seconds if end is not None else (self._last.mono if self._last is not None else 0.0)
        used = end.used if end is not None else self._meter.used(seconds=seconds)
        error = self._error_info()
        return JobResult(
            job_id=start.job_id,
            task_id=start.task,
            suite=suite_of(start.task),
            trainer_id=start.trainer,
            seed=start.seed,
            mode=start.mode,
            status=end.status if end is not None else "failed",
            stop_reason=end.stop_reason if end is not None else "error",
            **self._scores(),
            best_step=self._best_step(),
            steps=tuple(self.steps()) if with_steps else (),
            front=self._front.points(),
            usage=self._meter.by_role(),
            budget=start.budget,
            used=used,
            usage_selection=self._meter.selection(),
            model_errors=sum(usage.errors for usage in self._meter.by_role().values()),
            not_measured=self._meter.not_measured,
            reused=self._meter.reused,
            proposals=ProposalCounts(**self._proposals),
            flags=dict(sorted(self._flags.items())),
            overshoot=overshoot(start.budget, used),
            time_seconds=seconds,
            feedback=last_line(error),
            error=error,
            versions=dict(sorted(start.versions.items())),
            data=self._data,
            started_at=start.t or None,
            ended_at=max(self._last.t, start.t) or None if self._last is not None else None,  # a clock may be set back
            evaluations_by_status=dict(sorted(self._statuses.items())),
            exceptions=tuple(
                RaisedCount(**raised.model_dump(), count=count) for raised, count in self._raised.most_common()
            ),
            self_reported=start.self_reported,
            judge=self._judge,
            calibration=start.calibration,
            runtime=start.runtime,
            cages=dict(sorted(self._cages.items())),
            gain=gain_of(self._scored, start.content),
        )

    def _scores(self) -> dict[str, Any]:
        return {**scores_of(self._scored), "best_candidate": self._best_candidate()}

    def _on_validation(self, what: str) -> Scored | None:
        return _on_validation(self._scored, what)

    def _best_candidate(self) -> str | None:
        chosen = self._on_validation("best") or self._scored.get(("best", "test")) or self._best
        return chosen.candidate if chosen else None

    def _best_step(self) -> int | None:
        candidate = self._best_candidate()
        if self._best is not None and self._best.candidate == candidate:
            return self._best.step
        seen = self._seen.find(candidate) if candidate is not None else None
        return None if seen is None else self._seen_in_step[seen]

    def _error_info(self) -> ErrorInfo | None:
        status = self._end.status if self._end is not None else "failed"
        raised = self._error
        if raised is not None and (raised.fatal or status in {"failed", "unscored"}):
            return ErrorInfo(type=raised.type, message=raised.message, traceback=raised.traceback)
        return None if self.complete else CUT_SHORT


def scores_of(scored: Mapping[tuple[str, str], Scored]) -> dict[str, Any]:
    """Return the fields of a result that follow from what the engine scored, by what it was and by split."""
    initial, best, final = (_on_validation(scored, what) for what in ("initial", "best", "final"))
    test_initial, test = scored.get(("initial", "test")), scored.get(("best", "test"))
    chosen = best or test
    return {
        "score_val_initial": initial and initial.score,
        "score_val_best": best and best.score,
        "score_val_final": final and final.score,
        "score_test_initial": test_initial and test_initial.score,
        "score_test": test and test.score,
        "score_val_repeats": best.repeats if best else (),
        "score_test_repeats": test.repeats if test else (),
        "metrics_initial": dict(sorted(initial.metrics.items())) if initial else {},
        "metrics_best": dict(sorted(best.metrics.items())) if best else {},
        "best_candidate": chosen and chosen.candidate,
    }


def gain_of(scored: Mapping[tuple[str, str], Scored], metric: str) -> Gain | None:
    """Return the gain on test, else on validation, split by a metric of content; None where one of its four figures is not known."""
    for split in ("test", "validation", "train"):
        before, after = scored.get(("initial", split)), scored.get(("best", split))
        if before is None or after is None:
            continue
        known = (before.score, after.score, before.metrics.get(metric), after.metrics.get(metric))
        if any(figure is None for figure in known):
            return None
        one, other, held, holds = (figure or 0.0 for figure in known)
        return Gain(split=before.split, content=holds - held, form=(other - one) - (holds - held))
    return None


def _on_validation(scored: Mapping[tuple[str, str], Scored], what: str) -> Scored | None:
    return scored.get((what, "validation")) or scored.get((what, "train"))


def reduce_job(events: Iterable[Event], *, job: JobSpec | None = None) -> JobResult:
    """Reduce the events of one job, in order.

    Raises:
        RunDirError: when there is no `job_started` among them and `job` is not given.
    """
    reducer = Reducer(job)
    for event in events:
        reducer.add(event)
    return reducer.result()


def _start_of(job: JobSpec) -> JobStarted:
    return JobStarted(
        job_id=job.job_id,
        task=job.task_id,
        trainer=job.trainer_id,
        label=job.label,
        models=job.models,
        params=job.params,
        seed=job.seed,
        budget=job.budget,
        mode=job.mode,
        versions={},
    )


def not_run(job: JobSpec) -> JobResult:
    """Return the result of a planned job that has not been run."""
    return JobResult(
        job_id=job.job_id,
        task_id=job.task_id,
        suite=job.suite,
        trainer_id=job.trainer_id,
        seed=job.seed,
        mode=job.mode,
        status="not_run",
        stop_reason="",
        budget=job.budget,
    )


def overshoot(budget: Budget, used: BudgetState) -> dict[Axis, float]:
    """Return by how much each capped axis was passed; axes within their cap are left out, and so are rounding errors."""
    over: dict[Axis, float] = {}
    for axis, cap in budget.caps().items():
        amount = getattr(used, axis)
        if amount is not None and amount > cap and not math.isclose(amount, cap, rel_tol=1e-12):
            over[axis] = money.less(amount, cap) if axis == "usd" else amount - cap
    return over


def last_line(error: ErrorInfo | None) -> str:
    """Return an error as one line: its type, and the last line of its message that says something."""
    if error is None:
        return ""
    lines = [line.strip() for line in error.message.splitlines() if line.strip()]
    return f"{error.type}: {lines[-1]}" if lines else error.type


_PREFERENCE: tuple[Split, ...] = ("validation", "train")


class Front:
    """Collects evaluations; `points` compares candidates that were measured on the same examples only.

    Those are all examples of the validation split that the job met, or of train where no validation took place. A candidate that
    misses one of them, or failed on one, is left out. Of equal candidates the earliest stands for all.
    """

    def __init__(self, objectives: Sequence[Objective]) -> None:
        self._objectives = tuple(objectives)
        self._measured: dict[Split, dict[str, dict[str, EvaluationDone]]] = {s: {} for s in _PREFERENCE}

    def add(self, event: EvaluationDone) -> None:
        """Take one evaluation; a later one of the same candidate and example replaces it."""
        if self._objectives and event.split in self._measured:
            self._measured[event.split].setdefault(event.candidate, {})[event.example] = event

    def points(self) -> tuple[FrontPoint, ...]:
        """Return the front in the order in which its candidates appeared, with the mean of every objective's metric."""
        by_candidate = next((self._measured[s] for s in _PREFERENCE if self._measured[s]), {})
        examples = set[str]().union(*by_candidate.values())
        names = [o.metric for o in self._objectives]
        signs = [1.0 if o.direction == "maximize" else -1.0 for o in self._objectives]
        front: list[tuple[tuple[float, ...], FrontPoint]] = []
        for candidate, results in by_candidate.items():
            metrics = _means(results, examples=examples, names=names)
            if metrics is None:
                continue
            gains = tuple(sign * metrics[name] for sign, name in zip(signs, names, strict=True))
            if any(_covers(other, gains) for other, _ in front):
                continue
            front = [kept for kept in front if not _covers(gains, kept[0])]
            front.append((gains, FrontPoint(candidate=candidate, metrics=metrics)))
        return tuple(point for _, point in front)


def _covers(left: tuple[float, ...], right: tuple[float, ...]) -> bool:
    return all(a >= b for a, b in zip(left, right, strict=True))


def _means(results: dict[str, EvaluationDone], *, examples: set[str], names: Sequence[str]) -> dict[str, float] | None:
    if results.keys() != examples or any(r.status != "ok" for r in results.values()):
        return None
    ordered = [results[e].metrics for e in sorted(examples)]
    if not all(math.isfinite(m.get(n, math.nan)) for m in ordered for n in names):
        return None
    return {n: averages.mean([m[n] for m in ordered]) for n in sorted(names)}
