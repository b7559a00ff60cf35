"""A problem seen through one stage of a curriculum: part of train, a fresh start, and notes on how hard each example is."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, TypeVar

from pydantic import JsonValue

from tracebench_core.contracts import SIDE_BY_SIDE, BudgetView, Confinement, Optimizer, Problem, Ticket, Trainer
from tracebench_core.specs import (
    Candidate,
    Completion,
    Endpoint,
    Evaluation,
    Example,
    Message,
    Objective,
    Parameter,
    Role,
    Values,
)
from tracebench_opto.parts.archive import example_values
from tracebench_opto.parts.objectives import SCALAR

T = TypeVar("T")


class StageOver(BaseException):
    """A stage has had its steps or its evaluations. Like a spent budget it must pass through every `except Exception`."""


class Difficulty:
    """How hard each example is: the lower the mean score of all candidates that met it, the harder."""

    def __init__(self) -> None:
        self._scores: dict[str, list[float]] = {}

    def note(self, evaluation: Evaluation) -> None:
        """Take in an evaluation."""
        for example, score in example_values(evaluation, SCALAR).items():
            if score is not None:
                self._scores.setdefault(example, []).append(score)

    def order(self, examples: Sequence[Example]) -> list[Example]:
        """Return the examples, those that score highest first; what nobody met counts as average, and ties keep their order."""
        means = {e: math.fsum(s) / len(s) for e, s in self._scores.items()}
        average = math.fsum(means.values()) / len(means) if means else 0.0
        return sorted(examples, key=lambda e: -means.get(e.id, average))


class Stage:
    """The `Problem` that a wrapped trainer gets; everything it does happens on the real one."""

    def __init__(
        self,
        problem: Problem,
        train: Sequence[Example],
        *,
        difficulty: Difficulty,
        steps: int | None = None,
        evaluations: int | None = None,
        over: Callable[[], bool] | None = None,
    ) -> None:
        """`steps`, `evaluations` and `over`, which is asked at each step but the first, end the stage."""
        self._over = over
        self._begun = False
        self._problem = problem
        self._difficulty = difficulty
        self._steps = steps
        self._evaluations = evaluations
        self.train: Sequence[Example] = tuple(train)
        self.initial: Values = dict(problem.best.values)
        self.starts: tuple[Values, ...] = (self.initial,)
        self.parameters: Sequence[Parameter] = problem.parameters
        self.objective: str = problem.objective
        self.objectives: Sequence[Objective] = problem.objectives
        self.validation: Sequence[Example] = problem.validation
        self.seed: int = problem.seed
        self.rng: random.Random = problem.rng
        self.workers: int = problem.workers
        self.budget: BudgetView = problem.budget

    @property
    def best(self) -> Candidate:
        """The real archive's best."""
        return self._problem.best

    def evaluate(
        self,
        values: Values,
        examples: Sequence[Example] | None = None,
        *,
        parents: Sequence[str | Candidate] = (),
        origin: str = "",
        repeat: bool = False,
    ) -> Evaluation:
        """Evaluate one candidate, by default on the examples of this stage."""
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
        """Evaluate candidates, by default on the examples of this stage.

        Raises:
            StageOver: when the stage has had its evaluations.
        """
        batch = self.train if examples is None else examples
        self._charge(len(candidates) * len(batch))
        done = self._problem.evaluate_many(candidates, batch, parents=parents, origin=origin, repeat=repeat)
        return self._noted(done)

    def submit(
        self,
        values: Values,
        examples: Sequence[Example] | None = None,
        *,
        parents: Sequence[str | Candidate] = (),
        origin: str = "",
        repeat: bool = False,
    ) -> Ticket:
        """Begin to evaluate a candidate, by default on the examples of this stage.

        Raises:
            StageOver: when the stage has had its evaluations.
        """
        batch = self.train if examples is None else examples
        self._charge(len(batch))
        return self._problem.submit(values, batch, parents=parents, origin=origin, repeat=repeat)

    def collect(self, n: int = 1, *, any_order: bool = False) -> list[Evaluation]:
        """See `Problem`."""
        return self._noted(self._problem.collect(n, any_order=any_order))

    def compare_on(self, examples: Sequence[Example]) -> None:
        """See `Problem`."""
        self._problem.compare_on(examples)

    def scores(self, values: Values) -> Mapping[str, float]:
        """See `Problem`."""
        return self._problem.scores(values)

    def count_proposals(self, *, asked: int = 0, usable: int = 0, duplicate: int = 0, invalid: int = 0) -> None:
        """See `Problem`."""
        self._problem.count_proposals(asked=asked, usable=usable, duplicate=duplicate, invalid=invalid)

    def trainer(self, name: str, settings: Mapping[str, Any] | None = None) -> Trainer:
        """See `Problem`."""
        return self._problem.trainer(name, settings)

    def _charge(self, evaluations: int) -> None:
        if self._evaluations is not None:
            if self._evaluations <= 0:
                raise StageOver
            self._evaluations -= evaluations

    def _noted(self, done: list[Evaluation]) -> list[Evaluation]:
        for evaluation in done:
            self._difficulty.note(evaluation)
        return done

    def step(self) -> AbstractContextManager[int]:
        """Mark a step of the real problem.

        Raises:
            StageOver: when the stage has had its steps, or is over.
        """
        if self._begun and self._over is not None and self._over():
            raise StageOver
        self._begun = True
        if self._steps is not None:
            if self._steps <= 0:
                raise StageOver
            self._steps -= 1
        return self._problem.step()

    def complete(
        self, messages: Sequence[Message], *, role: Role = "optimizer", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """See `Problem`."""
        return self._problem.complete(messages, role=role, n=n, **sampling)

    def side_by_side(self, tasks: Sequence[Callable[[], T]], *, most: int = SIDE_BY_SIDE) -> list[T]:
        """See `Problem`."""
        return self._problem.side_by_side(tasks, most=most)

    @property
    def confinement(self) -> Confinement:
        """See `Problem`."""
        return self._problem.confinement

    def endpoint(self, role: Role = "optimizer") -> Endpoint:
        """See `Problem`."""
        return self._problem.endpoint(role)

    def optimizer(self, name: str | None = None, **kwargs: Any) -> Optimizer:
        """See `Problem`."""
        return self._problem.optimizer(name, **kwargs)

    def trace_agent(self) -> Any | None:
        """See `Problem`."""
        return self._problem.trace_agent()

    def decide(
        self, candidate: Candidate, verdict: Literal["accepted", "rejected", "indecisive"], reason: str = ""
    ) -> None:
        """See `Problem`."""
        self._problem.decide(candidate, verdict, reason)

    def log(self, name: str, value: float) -> None:
        """See `Problem`."""
        self._problem.log(name, value)

    def activity(self, doing: str, *, notice: bool = False) -> None:
        """See `Problem`."""
        self._problem.activity(doing, notice=notice)

    def check(self, values: Mapping[str, JsonValue]) -> str:
        """See `Problem`."""
        return self._problem.check(values)
