"""`Problem`: a task opened for one job, metered, seeded and recorded, without its test split."""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

from tracebench_core.contracts import SIDE_BY_SIDE, Optimizer, Task, Trainer
from tracebench_core.errors import BudgetExhausted, ModelError, NothingMeasured
from tracebench_core.ids import derive_seed
from tracebench_core.specs import (
    Candidate,
    Completion,
    Endpoint,
    Evaluation,
    Example,
    ExampleResult,
    Message,
    Role,
    Split,
    Values,
)
from tracebench_engine.job.archive import Archive
from tracebench_engine.job.circuit_breaker import TrainingBreaker
from tracebench_engine.job.mishaps import Mishaps
from tracebench_engine.job.sections import Sections
from tracebench_engine.job.setup import Setup
from tracebench_engine.measure.pending import PendingEvaluation
from tracebench_engine.measure.values import breach
from tracebench_runs.events.ranking import Ranking, aggregate_score

T = TypeVar("T")
HOPELESS_EVALUATIONS = 10
"""So many first evaluations that cannot be measured end a training."""


class MeteredProblem:
    """The engine's `Problem`; see the contract for what trainers may rely on. Threads may share it."""

    def __init__(self, task: Task, setup: Setup) -> None:
        self.parameters = tuple(task.parameters)
        own: Values = {p.name: p.initial for p in self.parameters}
        self.starts: tuple[Values, ...] = setup.start.values if setup.start is not None else (own,)
        self.objective = task.objective
        self.objectives = setup.objectives
        self.train = tuple(task.splits.get("train", ()))
        self.validation = tuple(task.splits.get("validation", ()))
        self.seed = setup.seed
        self.rng = random.Random(derive_seed(setup.seed, "trainer"))  # noqa: S311 - reproducible, not secret
        self.budget = setup.meter
        self.confinement = setup.confinement
        self._task = task
        self._setup = setup
        self._split: dict[str, Split] = dict.fromkeys([e.id for e in self.train], "train")
        self._split |= dict.fromkeys([e.id for e in self.validation], "validation")
        train, validation = [e.id for e in self.train], [e.id for e in self.validation]
        self._ranking = Ranking(
            train=train, validation=validation, worst_score=setup.worst_score, aggregate=setup.aggregate
        )
        self._archive = Archive(own, self._ranking)
        self._recorder = setup.recorder
        self.activity = setup.recorder.activity
        self._recorder.examples(train=train, validation=validation)
        self._recorder.candidate(self._archive.best)
        self._step_best: float | None = None
        self._last = self._archive.best
        self._unseen = set(self._archive.begin_from(setup.start, self.check)) if setup.start is not None else set()
        self._taken = 0
        self._breaker = TrainingBreaker()
        self._sections = Sections(setup.meter)
        self.unmeasured = 0
        """Evaluations that the infrastructure kept from being measured."""
        self.last_reason = ""
        self.scored = 0
        """Evaluations that count for something: feedback that is `ok`, or a failure where the task has a worst score."""
        self.last_failure = ""
        self.mishaps = Mishaps()
        self._steps = self._askers = 0
        self._tickets: deque[PendingEvaluation] = deque()
        self._lock = threading.RLock()

    @property
    def initial(self) -> Values:
        """What training begins from: the task's own values, or what another job found."""
        return dict(self.starts[0])

    @property
    def workers(self) -> int:
        """How many evaluations run at a time."""
        return self._setup.service.workers

    @property
    def best(self) -> Candidate:
        """The best candidate up to now."""
        return self._archive.best

    @property
    def last(self) -> Candidate:
        """The candidate that was evaluated last."""
        return self._last

    def finalists(self, most: int) -> list[str]:
        """Return the ids of the best candidates of the comparison set, of the leaders of the other sets, and of the initial one."""
        return self._ranking.finalists(most)

    def candidate(self, id_: str) -> Candidate:
        """Return a candidate by its id."""
        return self._archive.candidate(id_)

    def check(self, values: Mapping[str, Any]) -> str:
        """Return why these values may not be evaluated, or nothing."""
        return breach(self.parameters, values)

    def evaluate(
        self,
        values: Values,
        examples: Sequence[Example] | None = None,
        *,
        parents: Sequence[str | Candidate] = (),
        origin: str = "",
        repeat: bool = False,
    ) -> Evaluation:
        """Evaluate one candidate on a batch (default: all of `train`)."""
        return self.evaluate_many([values], examples, parents=parents, origin=origin, repeat=repeat)[0]

    def evaluate_many(
        self,
        candidates: Sequence[Values],
        examples: Sequence[Example] | None = None,
        *,
        parents: Sequence[str | Candidate] = (),
        origin: str = "",
        repeat: bool = False,
    ) -> list[Evaluation]:
        """Evaluate candidates on one batch; results and events come in the order given, however many workers there are."""
        ids, batch = _ids(parents), self._batch(examples)
        with self._asked_alone():
            with self._lock:
                admitted = [self._admit(values, ids, origin) for values in candidates]
            if self._is_lazy:
                return [self._finish(self._begin(candidate, batch, repeat=repeat)) for candidate in admitted]
            started: list[PendingEvaluation] = []
            for candidate in admitted:
                started.append(self._begin(candidate, batch, repeat=repeat))
                if started[-1].spent is not None:
                    break
            return [self._finish(pending) for pending in started]

    @contextmanager
    def _asked_alone(self) -> Iterator[None]:
        """Flag the job where another thread is being served already: the order of its events is that of arrival."""
        with self._lock:
            self._askers += 1
            if self._askers > 1:
                self._recorder.flag("order-dependent", "evaluations were asked for side by side")
        try:
            yield
        finally:
            with self._lock:
                self._askers -= 1

    def submit(
        self,
        values: Values,
        examples: Sequence[Example] | None = None,
        *,
        parents: Sequence[str | Candidate] = (),
        origin: str = "",
        repeat: bool = False,
    ) -> PendingEvaluation:
        """Begin to evaluate one candidate on a batch; with one worker it is measured when it is collected."""
        batch = self._batch(examples)
        with self._lock:
            candidate = self._admit(values, _ids(parents), origin)
            if self._is_lazy:
                self.budget.demand(1 + sum(len(ticket.results) for ticket in self._tickets))
        pending = self._begin(candidate, batch, repeat=repeat)
        if pending.spent is not None and not pending.results:
            raise pending.spent
        with self._lock:
            self._tickets.append(pending)
        return pending

    def collect(self, n: int = 1, *, any_order: bool = False) -> list[Evaluation]:
        """Wait for `n` submitted evaluations and return them, by default the oldest."""
        found: list[Evaluation] = []
        while len(found) < n and (pending := self._next(any_order=any_order)) is not None:
            found.append(self._finish(pending))
        return found

    def compare_on(self, examples: Sequence[Example]) -> None:
        """Declare the comparison set."""
        batch = self._batch(examples)
        if not batch:
            raise ValueError("a comparison set needs an example")
        with self._lock:
            self._ranking.compare_on([e.id for e in batch])
            self._recorder.comparison_set([e.id for e in batch])

    def complete(
        self, messages: Sequence[Message], *, role: Role = "optimizer", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask a model; every call is metered by the gateway and kept as an event."""
        self.budget.check_time()
        try:
            completions = self._setup.models.complete(messages, role=role, n=n, **sampling)
        except ModelError as err:
            self._breaker.failed(str(err), kind=err.kind)
            raise
        finally:
            self._recorder.calls(self._setup.models)
        self._breaker.answered()
        return completions

    def side_by_side(self, tasks: Sequence[Callable[[], T]], *, most: int = SIDE_BY_SIDE) -> list[T]:
        """Run tasks that ask models, several at a time, with the effect of one after another."""
        try:
            return self._sections.run(tasks, most=most)
        finally:
            self._recorder.section(self._setup.models)

    def endpoint(self, role: Role = "optimizer") -> Endpoint:
        """Return an OpenAI-compatible door for a foreign framework or a subprocess."""
        return self._setup.models.endpoint(role)

    def optimizer(self, name: str | None = None, **kwargs: Any) -> Optimizer:
        """Build the proposer that the config names, or `name`."""
        return self._setup.workshop.optimizer(self, name, kwargs)

    def trainer(self, name: str, settings: Mapping[str, Any] | None = None) -> Trainer:
        """Build another trainer of this run to be wrapped."""
        return self._setup.workshop.trainer(name, settings or {})

    def trace_agent(self) -> Any | None:
        """Return a fresh module with the initial values for a traced task, None for any other."""
        build = getattr(self._task, "trace_agent", None)
        return build() if callable(build) else None

    @contextmanager
    def step(self) -> Iterator[int]:
        """Mark one optimisation step."""
        with self._lock:
            index, self._steps = self._steps, self._steps + 1
            self._step_best = None
        started = time.monotonic()
        with self._recorder.step(index):
            try:
                yield index
            finally:
                self._recorder.calls(self._setup.models)
                self._recorder.step_finished(
                    index,
                    score=self._step_best,
                    best=self._ranking.best_score,
                    seconds=time.monotonic() - started,
                    used=self.budget.used(),
                )

    def decide(
        self, candidate: Candidate, verdict: Literal["accepted", "rejected", "indecisive"], reason: str = ""
    ) -> None:
        """Record a verdict on a candidate; what is rejected is never the best, unless it is accepted later."""
        with self._lock:
            self._ranking.judge(candidate.id, verdict)
        self._recorder.decision(candidate.id, verdict, reason)

    def scores(self, values: Values) -> Mapping[str, float]:
        """Return the mean of what a candidate measured on each example."""
        with self._lock:
            known = self._archive.find(values)
            return {} if known is None else self._ranking.means(known.id)

    def count_proposals(self, *, asked: int = 0, usable: int = 0, duplicate: int = 0, invalid: int = 0) -> None:
        """Count proposals."""
        self._recorder.proposals(asked=asked, usable=usable, duplicate=duplicate, invalid=invalid)

    def log(self, name: str, value: float) -> None:
        """Record a number of the current step."""
        self._recorder.metric(name, value)

    @property
    def taken(self) -> int:
        """How many evaluations the trainer has made."""
        return self._taken

    def settle(self) -> None:
        """Training is over: take what is still under way, so that nothing measured is lost."""
        for pending in self._tickets:
            if pending.done and pending.spent is None and not self._is_lazy:
                self._finish(pending)
        self._tickets.clear()
        self.budget.settle(self._taken)

    def _batch(self, examples: Sequence[Example] | None) -> tuple[Example, ...]:
        if examples is None:
            return self.train
        for example in examples:
            if example.id not in self._split:
                raise ValueError(f"`{example.id}` is no example of this problem's train or validation split")
        return tuple(examples)

    def _admit(self, values: Values, parents: tuple[str, ...], origin: str) -> Candidate:
        candidate, new = self._archive.admit(values, parents=parents, origin=origin)
        if new:
            self._unseen.add(candidate.id)
        return candidate

    @property
    def _is_lazy(self) -> bool:
        """With one worker an evaluation is granted and measured when its turn comes, in the thread that wants it."""
        return self._setup.service.workers == 1

    def _begin(self, candidate: Candidate, batch: Sequence[Example], *, repeat: bool) -> PendingEvaluation:
        """Have a batch granted in its order, and begin it."""
        spent: BudgetExhausted | None = None
        granted = len(batch)
        with self._lock:
            if not self._is_lazy:
                for granted in range(len(batch) + 1):
                    if granted == len(batch):
                        break
                    try:
                        self.budget.grant_evaluation()
                    except BudgetExhausted as err:
                        spent = err
                        break
            works = [(example, self._split[example.id]) for example in batch[:granted]]
            results = self._setup.service.begin(candidate, works, phase="training", repeat=repeat)
        return PendingEvaluation(candidate, self._recorder.current_step, results, spent)

    def _finish(self, pending: PendingEvaluation) -> Evaluation:
        """Take a batch's results in its order, each as soon as it is there."""
        taken: list[ExampleResult] = []
        if not pending.results and pending.spent is None:
            self._show(pending)
        for result in pending.results:
            if self._is_lazy:
                self.budget.grant_evaluation()
            taken.append(self._take(pending, result.result()))
        if pending.spent is not None:
            raise pending.spent
        score = aggregate_score([r.feedback for r in taken], self._setup.worst_score, self._setup.aggregate)
        with self._lock:
            if score is not None and (self._step_best is None or score > self._step_best):
                self._step_best = score
        return Evaluation(candidate=pending.candidate, results=tuple(taken), score=score)

    def _next(self, *, any_order: bool) -> PendingEvaluation | None:
        with self._lock:
            if not self._tickets:
                return None
            if not any_order or self._is_lazy:
                return self._tickets.popleft()
        self._recorder.flag("order-dependent", "evaluations were collected as they arrived")
        self._setup.service.wait_for(lambda: any(ticket.done for ticket in self._tickets))
        with self._lock:
            chosen = next(ticket for ticket in self._tickets if ticket.done)
            self._tickets.remove(chosen)
            return chosen

    def _show(self, pending: PendingEvaluation) -> None:
        """Record a candidate that was not met before."""
        with self._lock:
            if pending.candidate.id in self._unseen:
                self._unseen.remove(pending.candidate.id)
                self._recorder.candidate(pending.candidate, step=pending.step)

    def _take(self, pending: PendingEvaluation, result: ExampleResult) -> ExampleResult:
        candidate = pending.candidate
        self._recorder.calls(self._setup.models)  # what was called for it comes before it, whoever called
        with self._lock:
            self._show(pending)
            self._last = candidate
            self._taken += 1
            if result.feedback.status == "not_measured":
                self.unmeasured += 1
                self.last_reason = result.feedback.text
            elif result.feedback.status == "ok" or self._setup.worst_score is not None:
                self.scored += 1
            else:
                self.last_failure = f"{result.feedback.status}: " + " ".join(result.feedback.text.split())
            self.mishaps.take(candidate.id, result)
            self._recorder.evaluation(candidate.id, result, step=pending.step)
            if self.unmeasured == self._taken >= HOPELESS_EVALUATIONS:
                raise NothingMeasured(f"none of {self._taken} evaluations could be measured: {self.last_reason}")
            if self._archive.record(candidate, result):
                score = self._ranking.best_score
                if score is not None:
                    used = self.budget.used().model_copy(update={"evaluations": self._taken})
                    self._recorder.best(self._archive.best.id, score, used, step=pending.step)
        return result.without_metric(self._setup.content)


def _ids(parents: Sequence[str | Candidate]) -> tuple[str, ...]:
    return tuple(p if isinstance(p, str) else p.id for p in parents)
