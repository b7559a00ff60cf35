"""The contracts between the engine and everything that plugs into it: small protocols, no code."""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import JsonValue

from tracebench_core.specs import (
    Budget,
    BudgetState,
    Candidate,
    Completion,
    Endpoint,
    Evaluation,
    Example,
    ExecutorSetting,
    Feedback,
    JobResult,
    JobSpec,
    Limits,
    Message,
    Objective,
    Outcome,
    Parameter,
    Role,
    Split,
    Values,
)
from tracebench_core.specs.events import Event
from tracebench_core.specs.order import JobOrder


class Session(Protocol):
    """One candidate, alive in its own locked-down process, called many times. Its limits span the whole session."""

    def call(self, *args: Any, entry: str | None = None) -> Outcome:
        """Call the entry function with copies of `args`; after a fatal outcome every further call repeats that outcome."""
        ...

    def close(self) -> None:
        """End the process. Idempotent; also done on leaving the `with` block."""
        ...

    def __enter__(self) -> Session: ...
    def __exit__(self, *exc: object) -> None: ...


class Sandbox(Protocol):
    """Evaluates untrusted code in a process of its own. Values travel as JSON, numpy arrays included; nothing is pickled."""

    def call(self, code: str, entry: str, *args: Any, limits: Limits | None = None, prelude: str = "") -> Outcome:
        """Run `code` in a fresh process and return `entry(*args)`; `prelude` is trusted source that runs first (imports)."""
        ...

    def call_many(
        self, code: str, entry: str, inputs: Sequence[Sequence[Any]], *, limits: Limits | None = None, prelude: str = ""
    ) -> list[Outcome]:
        """Run `code` once and call `entry` for each tuple of arguments, in one process; order kept."""
        ...

    def session(self, code: str, entry: str, *, limits: Limits | None = None, prelude: str = "") -> Session:
        """Open a process in which `code` is loaded and `entry` can be called step by step by a trusted caller."""
        ...

    def command(
        self,
        argv: Sequence[str],
        *,
        files: Mapping[str, str] | None = None,
        stdin: str = "",
        limits: Limits | None = None,
    ) -> Outcome:
        """Run a command in an empty folder holding `files`; the value is `{"returncode", "stdout", "stderr"}`."""
        ...


class Context(Protocol):
    """What a task's program may use while it runs."""

    @property
    def seed(self) -> int:
        """Depends on the job's seed, the candidate, the example, and how often the two have met."""
        ...

    @property
    def sandbox(self) -> Sandbox: ...
    @property
    def workdir(self) -> Path:
        """Private to the job, on disk until the job ends."""
        ...

    def complete(self, messages: Sequence[Message], *, n: int = 1, **sampling: Any) -> list[Completion]:
        """Ask the model of the role `agent`."""
        ...

    def endpoint(self) -> Endpoint:
        """Return an OpenAI-compatible door for the role `agent`."""
        ...


class Guide(Protocol):
    """Scores one output. Called in the trusted process, on the original example."""

    def __call__(self, example: Example, output: Any, /) -> Feedback: ...


class Task(Protocol):
    """What is optimised: parameters, a program that uses them, examples, and a guide that scores.

    `run` may raise `EvaluationFailed` (below) to hand over a ready feedback in place of an output.
    A task may also offer `trace_agent() -> Module` (`TaskSpec.traced`), and `close()`.
    """

    @property
    def parameters(self) -> Sequence[Parameter]: ...
    @property
    def objective(self) -> str: ...
    @property
    def splits(self) -> Mapping[Split, Sequence[Example]]: ...
    @property
    def guide(self) -> Guide: ...

    def run(self, values: Values, example: Example, context: Context) -> Any:
        """Return the program's output for one example under the given values."""
        ...


class EvaluationFailed(Exception):  # noqa: N818 - says what happened to the candidate, not to us
    """Raised by a task's program or guide: this candidate has no output to score here, and the feedback says why."""

    def __init__(self, feedback: Feedback) -> None:
        super().__init__(feedback.text)
        self.feedback = feedback


class BudgetView(Protocol):
    """What a trainer may know of its budget. Infinite axes are None."""

    @property
    def caps(self) -> Budget: ...

    def used(self) -> BudgetState:
        """Return what is used up to now."""
        ...

    def remaining(self, axis: Literal["evaluations", "llm_calls", "tokens", "usd", "seconds"]) -> float | None:
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


class Problem(Protocol):
    """A task opened for one job: metered, seeded, recorded, without its test split. The only thing a trainer sees."""

    @property
    def parameters(self) -> Sequence[Parameter]: ...
    @property
    def initial(self) -> Values: ...
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
    ) -> Evaluation:
        """Evaluate one candidate on a batch (default: all of `train`).

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
    ) -> list[Evaluation]:
        """Evaluate candidates, in parallel where the run allows it; same order, same events, same results as one by one."""
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

    def check(self, values: Mapping[str, JsonValue]) -> str:
        """Return why these values may not be evaluated (type, bounds, unknown or missing names), or nothing."""
        ...


class Trainer(Protocol):
    """An optimisation algorithm."""

    def train(self, problem: Problem) -> None:
        """Improve on `problem.initial` until done; a spent budget ends it with `BudgetExhausted` from inside a call."""
        ...


class JobLogger(Protocol):
    """A sink of one job's events; a failing sink is dropped and never hurts the job."""

    def __call__(self, event: Event, /) -> None: ...
    def close(self) -> None: ...


class Reporter(Protocol):
    """A live view of a run, told of jobs as they start and end."""

    def run_started(self, run_dir: Path, jobs: int) -> None: ...
    def job_started(self, job: JobSpec) -> None: ...
    def job_finished(self, job: JobSpec, result: JobResult) -> None: ...
    def run_finished(self, run_dir: Path, counts: Mapping[str, int]) -> None: ...


class JobEnd(Protocol):
    """How a job's process ended, as its executor saw it."""

    @property
    def order(self) -> JobOrder: ...
    @property
    def exit(self) -> Literal["done", "timeout", "died", "cancelled", "lost"]:
        """`lost`: the process went down with its executor and may be run again."""
        ...

    @property
    def detail(self) -> str: ...


class Executor(Protocol):
    """Runs jobs, each in a process of its own, and says how each ended."""

    def run(self, orders: Iterator[JobOrder | None], *, setting: ExecutorSetting) -> Generator[JobEnd]:
        """Take orders lazily from the iterator while workers are free; yield each job's end as it comes.

        An order of None says that no job may start at present: go on with those that run, and ask again within moments.
        Closing the generator ends every job that still runs; nothing of them is left when it returns.
        """
        ...

    def cancel(self, job_id: str) -> None:
        """End one job that was ordered, from any thread; its end is told as `cancelled`."""
        ...
