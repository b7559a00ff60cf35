"""`Problem`: a task opened for one job, metered, seeded and recorded, without its test split."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tracebench_core.engine.archive import Archive, mean_score
from tracebench_core.engine.evaluate import EvaluationContext, evaluate_example, refused
from tracebench_core.engine.meter import Meter
from tracebench_core.engine.models import Models
from tracebench_core.engine.recorder import Recorder
from tracebench_core.engine.values import breach
from tracebench_core.errors import BudgetExhausted
from tracebench_core.ids import derive_seed
from tracebench_core.protocols import Guide, Optimizer, Sandbox, Task
from tracebench_core.specs import (
    Candidate,
    Completion,
    Endpoint,
    Evaluation,
    Example,
    ExampleResult,
    Message,
    Objective,
    Role,
    Split,
    Values,
)


@dataclass(frozen=True, slots=True)
class Setup:
    """What a problem is made of, apart from its task."""

    seed: int
    meter: Meter
    models: Models
    recorder: Recorder
    sandbox: Sandbox
    workdir: Path
    guide: Guide
    objectives: tuple[Objective, ...] = ()
    failure_score: float | None = None
    workers: int = 1
    build_optimizer: Any = None
    """`(problem, name, kwargs) -> Optimizer`."""


class MeteredProblem:
    """The engine's `Problem`; see the protocol for what trainers may rely on."""

    def __init__(self, task: Task, setup: Setup) -> None:
        self.parameters = tuple(task.parameters)
        self.initial: Values = {p.name: p.initial for p in self.parameters}
        self.objective = task.objective
        self.objectives = setup.objectives
        self.train = tuple(task.splits.get("train", ()))
        self.validation = tuple(task.splits.get("validation", ()))
        self.seed = setup.seed
        self.rng = random.Random(derive_seed(setup.seed, "trainer"))  # noqa: S311 - reproducible, not secret
        self.budget = setup.meter
        self._task = task
        self._setup = setup
        self._split: dict[str, Split] = {}
        for example in self.train:
            self._split[example.id] = "train"
        for example in self.validation:
            self._split[example.id] = "validation"
        self._archive = Archive(
            self.initial, train=[e.id for e in self.train], validation=[e.id for e in self.validation]
        )
        self._recorder = setup.recorder
        self._recorder.candidate(self._archive.best)
        self._met: Counter[tuple[str, str]] = Counter()
        self._steps = 0
        self._step_best: float | None = None
        self._last = self._archive.best
        self._unseen: set[str] = set()
        self._taken = 0

    @property
    def best(self) -> Candidate:
        """The best candidate up to now."""
        return self._archive.best

    @property
    def last(self) -> Candidate:
        """The candidate that was evaluated last."""
        return self._last

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
    ) -> Evaluation:
        """Evaluate one candidate on a batch (default: all of `train`)."""
        return self.evaluate_many([values], examples, parents=parents, origin=origin)[0]

    def evaluate_many(
        self,
        candidates: Sequence[Values],
        examples: Sequence[Example] | None = None,
        *,
        parents: Sequence[str | Candidate] = (),
        origin: str = "",
    ) -> list[Evaluation]:
        """Evaluate candidates on one batch; results and events come in the order given, however many workers there are."""
        batch = self.train if examples is None else tuple(examples)
        self._refuse_foreign(batch)
        ids = tuple(p if isinstance(p, str) else p.id for p in parents)
        admitted = [self._admit(values, ids, origin) for values in candidates]
        pairs = [(candidate, example) for candidate in admitted for example in batch]
        results = self._run(pairs)
        evaluations = []
        for i, candidate in enumerate(admitted):
            part = tuple(results[i * len(batch) : (i + 1) * len(batch)])
            score = mean_score(part, self._setup.failure_score)
            evaluations.append(Evaluation(candidate=candidate, results=part, score=score))
            if score is not None and (self._step_best is None or score > self._step_best):
                self._step_best = score
        return evaluations

    def complete(
        self, messages: Sequence[Message], *, role: Role = "optimizer", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask a model; every call is metered by the gateway and kept as an event."""
        self.budget.check_time()
        try:
            return self._setup.models.complete(messages, role=role, n=n, **sampling)
        finally:
            self._recorder.calls(self._setup.models)

    def endpoint(self, role: Role = "optimizer") -> Endpoint:
        """Return an OpenAI-compatible door for a foreign framework or a subprocess."""
        return self._setup.models.endpoint(role)

    def optimizer(self, name: str | None = None, **kwargs: Any) -> Optimizer:
        """Build the proposer that the config names, or `name`."""
        built: Optimizer = self._setup.build_optimizer(self, name, kwargs)
        return built

    def trace_agent(self) -> Any | None:
        """Return a fresh module with the initial values for a traced task, None for any other."""
        build = getattr(self._task, "trace_agent", None)
        return build() if callable(build) else None

    @contextmanager
    def step(self) -> Iterator[int]:
        """Mark one optimisation step."""
        index, self._steps = self._steps, self._steps + 1
        self._step_best = None
        started = time.monotonic()
        self._recorder.step_started(index)
        try:
            yield index
        finally:
            self._recorder.calls(self._setup.models)
            self._recorder.step_finished(
                index,
                score=self._step_best,
                best=self._archive.best_score,
                seconds=time.monotonic() - started,
                used=self.budget.used(),
            )

    def decide(
        self, candidate: Candidate, verdict: Literal["accepted", "rejected", "indecisive"], reason: str = ""
    ) -> None:
        """Record a verdict on a candidate."""
        self._recorder.decision(candidate.id, verdict, reason)

    def log(self, name: str, value: float) -> None:
        """Record a number of the current step."""
        self._recorder.metric(name, value)

    def _admit(self, values: Values, parents: tuple[str, ...], origin: str) -> Candidate:
        candidate, new = self._archive.admit(values, parents=parents, origin=origin)
        if new:
            self._unseen.add(candidate.id)
        return candidate

    def _refuse_foreign(self, batch: Sequence[Example]) -> None:
        for example in batch:
            if example.id not in self._split:
                raise ValueError(f"`{example.id}` is no example of this problem's train or validation split")

    def _run(self, pairs: Sequence[tuple[Candidate, Example]]) -> list[ExampleResult]:
        if self._setup.workers <= 1 or len(pairs) <= 1:
            return [self._take(candidate, self._granted(candidate, example)()) for candidate, example in pairs]
        spent: BudgetExhausted | None = None
        futures: list[Future[ExampleResult]] = []
        with ThreadPoolExecutor(max_workers=self._setup.workers) as pool:
            try:
                for candidate, example in pairs:
                    futures.append(pool.submit(self._granted(candidate, example)))
            except BudgetExhausted as err:
                spent = err
            try:
                results = [self._take(pair[0], future.result()) for pair, future in zip(pairs, futures, strict=False)]
            finally:
                pool.shutdown(cancel_futures=True)
        if spent is not None:
            raise spent
        return results

    def _granted(self, candidate: Candidate, example: Example) -> Callable[[], ExampleResult]:
        """Have one evaluation granted, in the order of the batch, and return what measures it, in any thread."""
        self.budget.grant_evaluation()
        context = self._context(candidate, example)
        return partial(self._measure, candidate, example, context)

    def _measure(self, candidate: Candidate, example: Example, context: EvaluationContext) -> ExampleResult:
        self.budget.check_time()
        split = self._split[example.id]
        if why := self.check(candidate.values):
            return refused(example, split=split, why=why)
        return evaluate_example(
            self._task, candidate.values, example=example, split=split, guide=self._setup.guide, context=context
        )

    def _context(self, candidate: Candidate, example: Example) -> EvaluationContext:
        repeat = self._met[candidate.id, example.id]
        self._met[candidate.id, example.id] += 1
        return EvaluationContext(
            seed=derive_seed(self.seed, "evaluation", candidate.id, example.id, repeat),
            sandbox=self._setup.sandbox,
            workdir=self._setup.workdir,
            models=self._setup.models,
            phase="training",
        )

    def _take(self, candidate: Candidate, result: ExampleResult) -> ExampleResult:
        if candidate.id in self._unseen:
            self._unseen.remove(candidate.id)
            self._recorder.candidate(candidate)
        self._last = candidate
        self._taken += 1
        self._recorder.evaluation(candidate.id, result)
        if self._archive.record(candidate, result, failure_score=self._setup.failure_score):
            score = self._archive.best_score
            if score is not None:
                used = self.budget.used().model_copy(update={"evaluations": self._taken})
                self._recorder.best(self._archive.best.id, score, used)
        return result
