"""What one task knows of its own: its texts, instances, simulation and verifier, apart from sandboxes and batches."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from tracebench_core.contracts import EvaluationFailed
from tracebench_core.ids import derive_seed
from tracebench_core.specs import Feedback, Split
from tracebench_core.specs.base import Spec
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.options import TaskOptions

Instance = TypeVar("Instance")


class Heuristic(Protocol):
    """The function under optimisation, as a simulation sees it: called with copies, its own seconds counted."""

    seconds: float

    def __call__(self, *args: Any) -> Any:
        """Return the function's value.

        Raises:
            EvaluationFailed: when it has none; the feedback says why.
        """
        ...

    def many(self, calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the function's values for calls that do not depend on each other."""
        ...


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a verified solution of one instance is worth."""

    value: float
    """The native metric."""
    note: str = ""
    """Where this solution loses most, in words and numbers."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Further native metrics, such as the objectives of a multi-objective task."""


def invalid(text: str) -> EvaluationFailed:
    """Return the exception that refuses a candidate's output; `text` names the violated rule with its numbers."""
    return EvaluationFailed(Feedback(score=0.0, status="invalid", text=text))


class Rules(ABC, Generic[Instance]):
    """The rules of one task. All of it is trusted code; only the `Heuristic` it is handed is not."""

    name: ClassVar[str]
    """The task's name in the catalogue, which holds the metric and its direction."""
    entry: ClassVar[str]
    """The function that the candidate must define."""
    program: str
    """The starting program: valid, and it scores."""
    objective: str
    """The full description: arguments with shapes and units, what to return, how it is scored, what is refused."""
    bound_source: str
    """What `bound` is and where it comes from, in a few words."""
    needs_numpy: ClassVar[bool] = True
    settings: Spec | None = None
    """The options that instances, simulation or bound may depend on beyond the instance itself."""

    def __init__(self, *, timeout_seconds: float) -> None:
        self.timeout_seconds = timeout_seconds

    @abstractmethod
    def batches(self, split: Split, salt: str = "") -> Iterator[Sequence[Instance]]:
        """Yield the examples of a split, each a batch of instances; no instance is in two splits.

        Generated instances are drawn from the salt where there is one, and nobody without it can compute them.
        """

    @abstractmethod
    def solve(self, instance: Instance, heuristic: Heuristic) -> Any:
        """Run the simulation and return its solution; raises `invalid(…)` as soon as the heuristic breaks a rule."""

    @abstractmethod
    def judge(self, instance: Instance, solution: Any) -> Verdict:
        """Verify a solution against the original instance from scratch, and value it; raises `invalid(…)`."""

    def draw(self, instance: Instance, solution: Any) -> Drawing | None:
        """Draw a solution that was judged; None where there is nothing to see."""
        return None

    @abstractmethod
    def bound(self, instance: Instance) -> float:
        """Return the best known value of the native metric on this instance, or a proven bound on it."""

    def is_scaled(self, instance: Instance) -> bool:
        """Tell whether the bound is near enough to what is possible that values may be told on a scale from the start (0) to it (1)."""
        return True

    def told_bound(self, instance: Instance) -> str:
        """Return what the bound of this instance is, in a few words."""
        return self.bound_source


class Evaluator(Rules[Instance]):
    """Rules with a seeded generator of instances."""

    def __init__(self, options: TaskOptions) -> None:
        super().__init__(timeout_seconds=options.timeout_seconds)
        self.options = self.settings = options

    @abstractmethod
    def generate(self, rng: np.random.Generator) -> Instance:
        """Return one random instance; the docstring of an override documents the generator."""

    def batches(self, split: Split, salt: str = "") -> Iterator[Sequence[Instance]]:
        """Yield batches of generated instances; splits are disjoint by their derived seeds."""
        purpose = (self.name, split, salt) if salt else (self.name, split)
        sizes = {"train": self.options.n_train, "validation": self.options.n_validation, "test": self.options.n_test}
        for example in range(sizes[split]):
            yield [
                self.generate(np.random.default_rng(derive_seed(self.options.seed, *purpose, example, k)))
                for k in range(self.options.n_instance)
            ]


class ListedEvaluator(Rules[Instance]):
    """Rules with a list of instances for every split, each an example of its own."""

    def __init__(self, lists: Mapping[Split, Sequence[Instance]], *, timeout_seconds: float) -> None:
        super().__init__(timeout_seconds=timeout_seconds)
        self.lists = lists

    def batches(self, split: Split, salt: str = "") -> Iterator[Sequence[Instance]]:
        """Yield the listed instances one by one."""
        for instance in self.lists[split]:
            yield [instance]
