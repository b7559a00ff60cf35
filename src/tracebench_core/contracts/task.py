"""What is optimised: a task, its guide, and what both may use while one evaluation runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic import JsonValue

from tracebench_core.contracts.sandbox import Sandbox
from tracebench_core.specs import Completion, Endpoint, Example, Feedback, Message, Parameter, Role, Split, Values


class Context(Protocol):
    """One evaluation (one candidate on one example), as its program and its guide see it."""

    @property
    def seed(self) -> int:
        """Depends on the job's seed, the candidate, the example, and how often the two have met."""
        ...

    @property
    def candidate(self) -> str:
        """The candidate's id, for naming things."""
        ...

    @property
    def sandbox(self) -> Sandbox: ...
    @property
    def workdir(self) -> Path:
        """A folder of this evaluation alone, made at its first use and removed afterwards."""
        ...

    @property
    def artifacts(self) -> Path:
        """A folder that is kept, `artifacts/<suite>/<evaluation>/` of the job, made at its first use."""
        ...

    @property
    def deadline(self) -> float | None:
        """Seconds that are left for this evaluation, never negative; None when there is no limit."""
        ...

    def complete(
        self, messages: Sequence[Message], *, role: Role = "agent", n: int = 1, **sampling: Any
    ) -> list[Completion]:
        """Ask a model: `agent` for the program under optimisation, `judge` for a guide.

        Raises:
            BudgetExhausted: when a cap is reached.
            ModelError: when there is no completion to be had. It may be let through: the engine knows what it means.
        """
        ...

    def endpoint(self, role: Role = "agent") -> Endpoint:
        """Return an OpenAI-compatible door for a role."""
        ...

    def environment(self, name: str, **options: JsonValue) -> Any:
        """Return the handle of an environment that the task names, opened at its first use; `options` go over its spec's.

        Raises:
            NotMeasured: when it cannot be opened.
        """
        ...

    def check(self) -> None:
        """Ask whether to go on; cheap enough to be asked twice a second while something slow is waited for.

        Raises:
            BudgetExhausted: when a cap has turned a call away, or the time is over.
        """
        ...

    def activity(self, text: str, *, done: int | None = None, total: int | None = None) -> None:
        """Say what a long evaluation is doing; shown to people, and kept."""
        ...

    def record(self, name: str, data: Mapping[str, JsonValue]) -> None:
        """Keep an event of the suite's own, readable by anyone."""
        ...


class Guide(Protocol):
    """Scores one output. Called in the trusted process, on the original example."""

    def __call__(self, example: Example, output: Any, context: Context, /) -> Feedback: ...


class Task(Protocol):
    """What is optimised: parameters, a program that uses them, examples, and a guide that scores.

    `run` and the guide may raise `EvaluationFailed` to hand over a ready feedback in place of an output, or `NotMeasured`. Any other
    exception is a bug of the task on the initial candidate, and makes any other candidate `invalid` when it repeats.

    A task may also offer
    `self_check() -> Sequence[str]`: what is wrong with it on this machine, found by trying it; `validate --strict` asks,
    `calibrations() -> Iterable[Calibration]`: cases whose outcome is known, which `trace-bench calibrate` measures as any candidate,
    `run_batch(values, examples, contexts) -> list`: one launch for many examples; an exception in the list stands for its example,
    `trace_agent() -> Module` (`TaskSpec.traced`), and
    `close()`: called once in every process that opened the task.
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


class NotMeasured(Exception):  # noqa: N818 - says what happened to the measurement
    """Raised by a task's program or guide: what it stands on is out of order, and says nothing of the candidate.

    `retry` says whether another attempt may help. With `suspect` it may be the candidate's doing after all: where it repeats for a
    candidate and the initial one measures, it is that candidate's failure.
    """

    def __init__(self, reason: str, *, retry: bool = True, suspect: bool = False) -> None:
        super().__init__(reason)
        self.retry = retry
        self.suspect = suspect
