"""What a trainer is, what it sees, and what it may ask for."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from pydantic import JsonValue

from tracebench_core.specs import (
    Axis,
    Budget,
    BudgetState,
    Cage,
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

T = TypeVar("T")
SIDE_BY_SIDE = 8
"""Model calls of one job that are under way together, unless a trainer is told otherwise."""


class BudgetView(Protocol):
    """What a trainer may know of its budget. Infinite axes are None."""

    @property
    def caps(self) -> Budget: ...

    def used(self) -> BudgetState:
        """Return what is used up to now."""
        ...

    def remaining(self, axis: Axis) -> float | None:
        """Return what is left on an axis, never negative; None when the axis is free (or, for usd, the price unknown)."""
        ...

    def check_time(self) -> None:
        """Raise BudgetExhausted when the time of the job or of the run is over; every evaluation and call checks it anyway."""
        ...

    def refusal(self) -> tuple[str, str] | None:
        """Return axis and scope (`job` or `run`) of the cap that first turned a call away, also a foreign client's; None while none did."""
        ...


class Optimizer(Protocol):
    """The proposer inside a trainer (OptoPrime, OPRO, TextGrad, …)."""

    def propose(self, evaluations: Sequence[Evaluation], *, n: int = 1) -> list[Values]:
        """Return up to `n` full assignments that should do better than the last of `evaluations`.

        `evaluations` are of one lineage, oldest first; the last one is improved upon. A malformed answer yields fewer proposals; it never
        raises. Values are typed like the parameters' initial values, and within their bounds.
        """
        ...


class BatchOptimizer(Optimizer, Protocol):
    """A proposer that answers several requests together, with its model calls side by side; trainers use it where it is offered."""

    def propose_many(
        self,
        lineages: Sequence[Sequence[Evaluation]],
        *,
        n: int = 1,
        most: int = SIDE_BY_SIDE,
        only: Sequence[str] | None = None,
        notes: Sequence[str] = (),
    ) -> list[list[Values]]:
        """Return for each lineage what `propose` would; with `only`, nothing but these parameters is changed.

        `notes` is what the trainer has found out, told to the model beside the feedback. A call without an answer costs its
        proposal only. The result depends on the order of the lineages and not on `most`.
        """
        ...


class Ticket(Protocol):
    """One evaluation that was submitted."""

    @property
    def candidate(self) -> Candidate: ...
    @property
    def done(self) -> bool:
        """Whether `collect` would return it without waiting."""
        ...


class Confinement(Protocol):
    """How the programs that a trainer starts are to be held, and where that is recorded."""

    @property
    def require(self) -> Literal["auto", "strong", "process"]:
        """The run's `sandbox.require`: `process` lets a program run with the host's files where it cannot be held better."""
        ...

    @property
    def hidden(self) -> Sequence[Path]:
        """What no program may find, whatever else it is shown: the run's folder and what leads to other runs."""
        ...

    @property
    def processes(self) -> int | None: ...
    @property
    def memory_mb(self) -> int | None: ...
    def told(self, name: str, cage: Cage) -> None:
        """A program is about to start, held like this."""
        ...


class Problem(Protocol):
    """A task opened for one job: metered, seeded, recorded, without its test split. The only thing a trainer sees."""

    @property
    def parameters(self) -> Sequence[Parameter]: ...
    @property
    def initial(self) -> Values: ...
    @property
    def starts(self) -> Sequence[Values]:
        """What training may begin from; the first is `initial`, and there are more where a job goes on from a front."""
        ...

    @property
    def objective(self) -> str: ...
    @property
    def objectives(self) -> Sequence[Objective]: ...
    @property
    def train(self) -> Sequence[Example]: ...
    @property
    def validation(self) -> Sequence[Example]:
        """Empty when the task has none."""
        ...

    @property
    def seed(self) -> int: ...
    @property
    def rng(self) -> random.Random: ...
    @property
    def workers(self) -> int:
        """How many evaluations run at a time; more that are asked for wait their turn."""
        ...

    @property
    def confinement(self) -> Confinement: ...
    @property
    def budget(self) -> BudgetView: ...
    @property
    def best(self) -> Candidate:
        """The engine's archive's best so far; the initial candidate at first."""
        ...

    def evaluate(
        self,
        values: Values,
        examples: Sequence[Example] | None = None,
        *,
        parents: Sequence[str | Candidate] = (),
        origin: str = "",
        repeat: bool = False,
    ) -> Evaluation:
        """Evaluate one candidate on a batch (default: all of `train`); `repeat` measures anew what is known already.

        Raises:
            BudgetExhausted: when a cap is reached, also in the middle of a batch.
        """
        ...

    def evaluate_many(
        self,
        candidates: Sequence[Values],
        examples: Sequence[Example] | None = None,
        *,
        parents: Sequence[str | Candidate] = (),
        origin: str = "",
        repeat: bool = False,
    ) -> list[Evaluation]:
        """Evaluate candidates, in parallel where the run allows it; same order, same events, same results as one by one."""
        ...

    def submit(
        self,
        values: Values,
        examples: Sequence[Example] | None = None,
        *,
        parents: Sequence[str | Candidate] = (),
        origin: str = "",
        repeat: bool = False,
    ) -> Ticket:
        """Begin to evaluate one candidate on a batch and return at once; several may be under way.

        Raises:
            BudgetExhausted: when a cap refuses the first example. A cap that is reached later in the batch is told by `collect`.
        """
        ...

    def collect(self, n: int = 1, *, any_order: bool = False) -> list[Evaluation]:
        """Wait for `n` submitted evaluations and return them: the oldest, in order of submission; fewer when fewer are under way.

        With `any_order` those that are done first come first. Their order of arrival is recorded, and the job is marked
        `order-dependent`: two runs of it may differ.

        Raises:
            BudgetExhausted: when a cap was reached in the middle of one of them.
        """
        ...

    def compare_on(self, examples: Sequence[Example]) -> None:
        """Declare the comparison set: the examples on which candidates are compared, by the engine's archive too.

        Without one they are those of validation, or of train where a task has no validation.
        """
        ...

    def scores(self, values: Values) -> Mapping[str, float]:
        """Return what is known of a candidate: the mean of what it measured on each example; nothing where it was never measured."""
        ...

    def count_proposals(self, *, asked: int = 0, usable: int = 0, duplicate: int = 0, invalid: int = 0) -> None:
        """Count proposals: how many a model was asked for, and what could be done with its answers."""
        ...

    def trainer(self, name: str, settings: Mapping[str, Any] | None = None) -> Trainer:
        """Build another trainer of this run to be wrapped; other names of its settings are mapped.

        Raises:
            UsageError: when no plugin offers it, it is excluded, or it refuses the settings.
        """
        ...

    def complete(
        self, messages: Sequence[Message], *, role: Role = "optimizer", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask a model; returns `n` completions.

        Raises:
            BudgetExhausted: when a cap is reached.
            ModelError: when the model cannot be asked or its answer is no completion.
        """
        ...

    def side_by_side(self, tasks: Sequence[Callable[[], T]], *, most: int = SIDE_BY_SIDE) -> list[T]:
        """Run tasks that ask models, at most `most` at a time, and return their results in order.

        The effect is that of running them one after another: calls are numbered by task, and their events come in one order whichever
        is answered first. Tasks do nothing to the problem but `complete`. Near a cap they run one at a time.

        Raises:
            BudgetExhausted, TrainingStopped, ModelError: what the first task in order raised, once all have ended.
        """
        ...

    def endpoint(self, role: Role = "optimizer") -> Endpoint:
        """Return an OpenAI-compatible door for a foreign framework or a subprocess, metered like everything else."""
        ...

    def optimizer(self, name: str | None = None, **kwargs: Any) -> Optimizer:
        """Build the proposer that the config names, or `name`; `kwargs` are defaults under the config's."""
        ...

    def trace_agent(self) -> Any | None:
        """Return a fresh traced module with the initial values for a traced task, None for any other."""
        ...

    def step(self) -> AbstractContextManager[int]:
        """Mark one optimisation step; yields its index, from 0."""
        ...

    def decide(
        self, candidate: Candidate, verdict: Literal["accepted", "rejected", "indecisive"], reason: str = ""
    ) -> None:
        """Record a verdict on a candidate."""
        ...

    def log(self, name: str, value: float) -> None:
        """Record a number of the current step."""
        ...

    def activity(self, doing: str, *, notice: bool = False) -> None:
        """Say what the job is doing, for whoever looks; empty for nothing worth a word. Every reporter says a `notice` at once."""
        ...

    def check(self, values: Mapping[str, JsonValue]) -> str:
        """Return why these values may not be evaluated (type, bounds, unknown or missing names), or nothing."""
        ...


class Trainer(Protocol):
    """An optimisation algorithm."""

    def train(self, problem: Problem) -> None:
        """Improve on `problem.initial` until done; a spent budget ends it with `BudgetExhausted` from inside a call."""
        ...


@dataclass(frozen=True, slots=True)
class Twin:
    """A program that visits without Trace-Bench what a trainer visits with it, when it is answered as the trainer was.

    It is started in an empty folder, and finds the module `recorded` on its path: the job's task and settings, and what was answered.
    """

    program: Path
    python: str
    """Path of the interpreter that holds the library."""
    library: str
    """The distribution's name; its version is told beside the verdict."""
    settings: Mapping[str, JsonValue] = field(default_factory=dict)
    """What the program is told; by default what the job's trainer was."""
    environ: Mapping[str, str] = field(default_factory=dict)
    """Further variables of its environment, such as those that turn telemetry off."""
    any_order: str = ""
    """Why candidates may come in another order, in words; empty where they may not."""
