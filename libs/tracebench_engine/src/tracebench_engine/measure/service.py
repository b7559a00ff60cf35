"""The one road to a measurement, for trainers, for the engine's own scoring, and for programs without a trainer.

Failures are judged here, in one place. What the infrastructure does to an evaluation makes it `not_measured`. What follows the candidate,
because it repeats for it where the initial candidate measures, makes it `invalid`. What fails for the initial candidate, and is no
infrastructure, is a bug of the task.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeVar

from tracebench_core.contracts import Guide, Task
from tracebench_core.errors import BrokenTaskError, BudgetExhausted
from tracebench_core.ids import derive_seed
from tracebench_core.specs import Candidate, Example, ExampleResult, Feedback, Split, TaskSpec
from tracebench_engine.measure.attempt import Failure, attempt, classify, in_time, overdue, possible, score
from tracebench_engine.measure.bounded import Gate, Overdue, bounded
from tracebench_engine.measure.context import EvaluationContext, Shared, evaluation_name
from tracebench_engine.measure.measurement_cache import MeasurementCache
from tracebench_engine.measure.scored_before import ScoredBefore, key_of
from tracebench_engine.measure.values import breach
from tracebench_gateway.access import Phase
from tracebench_runs.events.many import Tally


class Result(Protocol):
    """An evaluation's result, there or to come."""

    def done(self) -> bool: ...
    def result(self) -> ExampleResult:
        """Wait for it, or with one worker measure it now."""
        ...


T = TypeVar("T")
RETRIES = 1
"""Attempts after the first, at an evaluation that the infrastructure kept from being measured."""


@dataclass(frozen=True, slots=True)
class Work:
    """One evaluation that is to be made."""

    candidate: Candidate
    example: Example
    split: Split
    phase: Phase
    repeat: int
    seeded_as: int
    """The repeat whose seed it has."""


class EvaluationService:
    """Measures candidates of one job on examples. Threads may share it."""

    def __init__(
        self,
        task: Task,
        guide: Guide,
        shared: Shared,
        *,
        spec: TaskSpec,
        initial: Candidate,
        seed: int,
        workers: int = 1,
        retries: int = RETRIES,
        before: Callable[[], None] | None = None,
        check: Callable[[], None] | None = None,
        on_control: Callable[[Candidate, ExampleResult], None] | None = None,
        reuse: MeasurementCache | None = None,
        before_this: ScoredBefore | None = None,
    ) -> None:
        """`reuse` holds what earlier attempts have measured of a deterministic task; without it none of them is looked at.

        `before` is called ahead of each attempt, and `check` when a context asks whether to go on; both may raise.

        `on_control` is told what was measured only to judge a failure. `before_this` holds what a scoring measured that was cut short,
        and keeps what this one does.
        """
        self._task = task
        self._guide = guide
        self._shared = shared
        self._spec = spec
        self._initial = initial
        self._seed = seed
        self._retries = retries
        self._before = before
        self._check = check
        self._on_control = on_control
        self._reuse = reuse
        self._before_this = before_this
        self._batch = getattr(task, "run_batch", None)
        self._met = Tally()
        self._known: dict[tuple[str, str], ExampleResult] = {}
        self._sound: dict[str, bool] = {}
        self.broken: BrokenTaskError | None = None
        """What shows that the task itself does not work; whatever a trainer makes of it, the job has failed."""
        self._judging = threading.Lock()
        self._arrived = threading.Condition()
        self.workers = 1 if spec.traced else min(workers, spec.concurrency or workers)
        self._pool = ThreadPoolExecutor(self.workers, "evaluation") if self.workers > 1 else None

    def begin(
        self,
        candidate: Candidate,
        examples: Sequence[tuple[Example, Split]],
        *,
        phase: Phase,
        repeat: bool = False,
        same_seed: bool = False,
    ) -> list[Result]:
        """Begin to measure a candidate on examples; with one worker each is measured when it is asked for.

        With `repeat` what was measured before is measured again, and with `same_seed` by the seed of the first time: what a suite keeps
        of an evaluation, its records and artifacts, is then kept of the first time alone.
        """
        if why := breach(self._task.parameters, candidate.values):
            return [_Ready(self._refused(example, split, why)) for example, split in examples]
        found: list[Result | None] = []
        works: list[Work] = []
        for example, split in examples:
            number = self._met.add(candidate.id, (example.id, phase))
            work = Work(candidate, example, split, phase, number, 0 if same_seed else number)
            known = self._scored_before(work) if phase == "scoring" else None if repeat else self._remembered(work)
            if known is None:
                works.append(work)
                found.append(None)
            else:
                found.append(_Ready(known.model_copy(update={"reused": True, "seconds": 0.0})))
        started = iter(self._start(works))
        return [next(started) if result is None else result for result in found]

    def wait_for(self, arrived: Callable[[], bool]) -> None:
        """Wait until `arrived()` holds; it is asked whenever something was measured."""
        with self._arrived:
            self._arrived.wait_for(arrived)

    def close(self) -> None:
        """Drop what has not begun, and wait for what has. Idempotent."""
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def _remembered(self, work: Work) -> ExampleResult | None:
        known = self._known.get((work.candidate.id, work.example.id))
        if known is None and self._reuse is not None and (key := self._key(work)):
            known = self._reuse.find(key)
            if known is not None:
                self._known[work.candidate.id, work.example.id] = known
        return known

    def _scored_before(self, work: Work) -> ExampleResult | None:
        found = self._before_this.find(self._place(work)) if self._before_this is not None else None
        if found is not None and work.candidate.id == self._initial.id:
            self._sound[work.example.id] = True
        return found

    def _place(self, work: Work) -> str:
        """Return what stands for an evaluation of scoring."""
        return key_of(work.candidate, work.example, split=work.split, repeat=work.repeat, seed=self._seed_of(work))

    def _key(self, work: Work) -> str:
        """Return what stands for a first evaluation of training on the train split; empty for any other."""
        if self._reuse is None or work.phase == "scoring" or work.split != "train" or work.repeat:
            return ""
        return self._reuse.key(work.candidate, work.example, self._seed_of(work))

    def _seed_of(self, work: Work) -> int:
        purpose = "evaluation" if work.phase == "training" else "scoring"
        return derive_seed(self._seed, purpose, work.candidate.id, work.example.id, work.seeded_as)

    def _start(self, works: Sequence[Work]) -> list[Result]:
        if self._batch is not None and len(works) > 1:
            batch = _Batch(partial(self._measure_batch, works))
            if self._pool is not None:
                self._pool.submit(batch.outcome).add_done_callback(self._tell)
            return [_Part(batch, i) for i in range(len(works))]
        if self._pool is None:
            return [_Waiting(partial(self._measure, work)) for work in works]
        futures = [self._pool.submit(self._measure, work) for work in works]
        for future in futures:
            future.add_done_callback(self._tell)
        return list[Result](futures)

    def _tell(self, _: object) -> None:
        with self._arrived:
            self._arrived.notify_all()

    def _measure(self, work: Work) -> ExampleResult:
        started = time.perf_counter()
        feedback, asked = self._attempt(work)
        return self._judged(work, feedback, started=started, asked=asked)

    def _measure_batch(self, works: Sequence[Work]) -> list[ExampleResult]:
        started = time.perf_counter()
        contexts = [self._context(work) for work in works]
        try:
            if self._before is not None:
                self._before()
            feedbacks = self._bounded_batch(works, contexts)
            self._refuse_unpaid(works[0])
        finally:
            for context in contexts:
                context.close()
        return [
            self._judged(work, feedback, started=started, asked=context.asked_model)
            for work, feedback, context in zip(works, feedbacks, contexts, strict=True)
        ]

    def _bounded_batch(self, works: Sequence[Work], contexts: Sequence[EvaluationContext]) -> list[Feedback | Failure]:
        """Launch a batch; it may take as long as its examples might one after another."""
        limit = self._spec.evaluation_timeout
        if limit is None:
            return self._launch(works, contexts)
        gate = Gate()
        for context in contexts:
            context.gate = gate
        try:
            return bounded(lambda: self._launch(works, contexts), limit * len(works), gate)
        except Overdue as err:
            return [overdue(err, retry=context.leans) for context in contexts]

    def _launch(self, works: Sequence[Work], contexts: Sequence[EvaluationContext]) -> list[Feedback | Failure]:
        examples = [work.example for work in works]
        try:
            outputs = list(self._batch(_copied(works[0].candidate.values), examples, contexts))  # type: ignore[misc]  # asked for in `_start`
            if len(outputs) != len(works):
                raise ValueError(f"`run_batch` returned {len(outputs)} outputs for {len(works)} examples")
        except (Exception, SystemExit) as err:  # noqa: BLE001 - it stands for every example of the batch
            return [classify(err)] * len(works)
        return [score(self._guide, *one) for one in zip(examples, outputs, contexts, strict=True)]

    def _attempt(self, work: Work) -> tuple[Feedback | Failure, bool]:
        if self._before is not None:
            self._before()
        context = self._context(work)
        try:
            values = _copied(work.candidate.values)  # a program may do with them what it likes
            measure = partial(attempt, self._task, self._guide, values, work.example, context)
            seconds = self._spec.evaluation_timeout
            feedback = measure() if seconds is None else in_time(measure, seconds, context)
            self._refuse_unpaid(work)
            return feedback, context.asked_model
        finally:
            context.close()

    def _refuse_unpaid(self, work: Work) -> None:
        """Raise BudgetExhausted once scoring was refused a model call: a program that swallows a refusal has no score for all that."""
        if work.phase == "scoring" and (spent := self._shared.models.refusal("scoring")):
            raise BudgetExhausted(spent.axis, scope=spent.scope)

    def _context(self, work: Work) -> EvaluationContext:
        candidate, example = work.candidate.id, work.example.id
        return EvaluationContext(
            self._shared,
            seed=partial(self._seed_of, work),
            candidate=candidate,
            example=example,
            name=partial(evaluation_name, candidate, example, phase=work.phase, repeat=work.repeat),
            phase=work.phase,
            seconds=self._spec.evaluation_timeout,
            check=self._check if work.phase == "training" else None,
            keeps=work.repeat == work.seeded_as,
        )

    def _judged(self, work: Work, found: Feedback | Failure, *, started: float, asked: bool) -> ExampleResult:
        """Return the result that a first attempt's outcome leads to, after such further attempts as it takes."""
        for _ in range(self._retries):
            if isinstance(found, Feedback) or not found.retry:
                break
            found, asked = self._attempt(work)
        found = possible(found, self._spec)
        if isinstance(found, Failure):
            feedback = self._verdict(work, found)
        elif found.status in {"ok", "not_measured"}:
            feedback = found
        else:
            feedback = found.model_copy(update={"score": self._worst})
        result = ExampleResult(
            example=work.example.id,
            split=work.split,
            feedback=feedback,
            seconds=time.perf_counter() - started,
            raised=found.raised if isinstance(found, Failure) else None,
        )
        if self._before_this is not None and not asked:
            self._before_this.keep(self._place(work), result)
        if feedback.status != "not_measured":
            if work.candidate.id == self._initial.id:
                self._sound[work.example.id] = True
            if self._spec.deterministic and not asked and work.phase == "training":
                if feedback.status != "timeout" and (key := self._key(work)):
                    result = result.model_copy(update={"key": key})
                self._known[work.candidate.id, work.example.id] = result
        return result

    def _verdict(self, work: Work, failure: Failure) -> Feedback:
        if failure.blame == "infrastructure":
            return Feedback(score=0.0, status="not_measured", text=failure.words)
        if work.candidate.id == self._initial.id:
            if failure.blameless:
                return Feedback(score=0.0, status="not_measured", text=failure.words)
            self.broken = self.broken or BrokenTaskError(
                f"The task fails on its own initial candidate, on example `{work.example.id}`: {failure.words}",
                hint="trace-bench validate --strict --config FILE",
            )
            raise self.broken
        if self._is_sound(work):
            return Feedback(score=self._worst, status=failure.status, text=failure.words)
        return Feedback(score=0.0, status="not_measured", text=failure.words)

    def _is_sound(self, work: Work) -> bool:
        """Tell whether the initial candidate measures on a work's example; it is measured now when nobody did yet."""
        with self._judging:
            known = self._sound.get(work.example.id)
            if known is not None:
                return known
            control = Work(self._initial, work.example, work.split, work.phase, -1, -1)
            result = self._measure(control)
            if self._on_control is not None:
                self._on_control(self._initial, result)
            return self._sound.setdefault(work.example.id, result.feedback.status != "not_measured")

    @property
    def _worst(self) -> float:
        return 0.0 if self._spec.worst_score is None else self._spec.worst_score

    def _refused(self, example: Example, split: Split, why: str) -> ExampleResult:
        feedback = Feedback(score=self._worst, status="invalid", text=why)
        return ExampleResult(example=example.id, split=split, feedback=feedback, seconds=0.0)


def _copied(value: T) -> T:
    """Return a JSON value that shares nothing with this one that could change."""
    match value:
        case dict():
            return {name: _copied(part) for name, part in value.items()}  # type: ignore[return-value]
        case list():
            return [_copied(part) for part in value]  # type: ignore[return-value]
    return value


@dataclass(frozen=True, slots=True)
class _Ready:
    value: ExampleResult

    def done(self) -> bool:
        return True

    def result(self) -> ExampleResult:
        return self.value


@dataclass(frozen=True, slots=True)
class _Waiting:
    result: Callable[[], ExampleResult]
    """Measures it now."""

    def done(self) -> bool:
        return False


class _Batch:
    """Measured at the first question, in whatever thread; its outcome, an exception too, is that of all who ask."""

    def __init__(self, measure: Callable[[], list[ExampleResult]]) -> None:
        self._measure = measure
        self._lock = threading.Lock()
        self.results: list[ExampleResult] | None = None
        self.error: BaseException | None = None

    def outcome(self) -> list[ExampleResult]:
        with self._lock:
            if self.results is None and self.error is None:
                try:
                    self.results = self._measure()
                except BaseException as err:  # noqa: BLE001 - it belongs to those that ask, a spent budget included
                    self.error = err
        if self.results is None:
            raise self.error or RuntimeError("the batch has no outcome")
        return self.results


@dataclass(frozen=True, slots=True)
class _Part:
    batch: _Batch
    index: int

    def done(self) -> bool:
        return self.batch.results is not None or self.batch.error is not None

    def result(self) -> ExampleResult:
        return self.batch.outcome()[self.index]
