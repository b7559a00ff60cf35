"""The events of a job: what happened, in order, one JSON object a line. They are the truth of the job.

Every other file of a job is reduced from them. Fields common to all are set by the writer: `v` (format version), `seq`
(gap-free, from 0), `t` (UTC) and `mono` (seconds since the job started).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue

from tracebench_core.specs.base import Axis, Mode, Role, Spec, Split
from tracebench_core.specs.feedback import FeedbackStatus
from tracebench_core.specs.job import Budget, BudgetState, JobStatus
from tracebench_core.specs.task import Objective

EVENTS_VERSION = 1


class Event(Spec):
    """Base of all events."""

    v: int = EVENTS_VERSION
    seq: int = 0
    t: str = ""
    mono: float = 0.0


class JobStarted(Event):
    """The first event."""

    kind: Literal["job_started"] = "job_started"
    job_id: str
    task: str
    trainer: str
    params: dict[str, Any]
    seed: int
    budget: Budget
    mode: Mode
    versions: dict[str, JsonValue]
    objectives: tuple[Objective, ...] = ()
    """The task's, when it has several: the front is reduced by them."""


class StepStarted(Event):
    """A trainer begins one optimisation step."""

    kind: Literal["step_started"] = "step_started"
    index: int


class StepFinished(Event):
    """A trainer ended one optimisation step; `score` is the best of the step, `best` of the job so far."""

    kind: Literal["step_finished"] = "step_finished"
    index: int
    score: float | None
    best: float | None
    seconds: float
    used: BudgetState


class CandidateSeen(Event):
    """A candidate is evaluated for the first time. A value of over 2 kB is written as `{"blob": sha256}`."""

    kind: Literal["candidate"] = "candidate"
    id: str
    parents: tuple[str, ...]
    origin: str
    values: dict[str, JsonValue]
    step: int | None


class EvaluationDone(Event):
    """One candidate on one example. `by` tells the trainer's evaluations (charged) from the engine's (not charged)."""

    kind: Literal["evaluation"] = "evaluation"
    candidate: str
    split: Split
    example: str
    score: float
    status: FeedbackStatus
    metrics: dict[str, float]
    feedback: str
    seconds: float
    by: Literal["trainer", "engine"] = "trainer"
    step: int | None = None


class LLMCall(Event):
    """One model call as the gateway metered it."""

    kind: Literal["llm_call"] = "llm_call"
    call: int
    """Number of the call within the job, as the gateway counts."""
    role: Role
    model: str
    phase: Literal["training", "scoring"] = "training"
    status: Literal["ok", "error", "refused"]
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    usd: float | None = None
    seconds: float = 0.0
    retries: int = 0
    cached: bool = False
    estimated: bool = False
    """The provider sent no usage: tokens are our estimate."""
    error: str = ""
    request_hash: str = ""
    reply_hash: str = ""


class Decision(Event):
    """A trainer's verdict on a candidate."""

    kind: Literal["decision"] = "decision"
    candidate: str
    verdict: Literal["accepted", "rejected", "indecisive"]
    reason: str = ""


class BestChanged(Event):
    """The engine's archive has a new best candidate, at this point of the budget."""

    kind: Literal["best"] = "best"
    candidate: str
    score: float
    used: BudgetState
    step: int | None = None


class MetricLogged(Event):
    """A number that a trainer wants kept."""

    kind: Literal["metric"] = "metric"
    name: str
    value: float
    step: int | None = None


class Activity(Event):
    """What the job is doing since now."""

    kind: Literal["activity"] = "activity"
    doing: Literal["generating", "evaluating", "waiting", "scoring"]


class ErrorRaised(Event):
    """An error of the trainer, the task or ours; a fatal one ends the job."""

    kind: Literal["error"] = "error"
    type: str
    message: str
    traceback: str = ""
    fatal: bool = True


class BudgetReached(Event):
    """A cap was reached."""

    kind: Literal["budget"] = "budget"
    axis: Axis
    scope: Literal["job", "run"] = "job"
    cap: float | None
    used: BudgetState


class Scored(Event):
    """The engine's own measurement of a candidate on a whole split: initial, best or final."""

    kind: Literal["scored"] = "scored"
    what: Literal["initial", "best", "final"]
    split: Split
    candidate: str
    score: float | None
    metrics: dict[str, float]


class JobFinished(Event):
    """The last event."""

    kind: Literal["job_finished"] = "job_finished"
    status: JobStatus
    stop_reason: str
    used: BudgetState = BudgetState()
    seconds: float = 0.0


AnyEvent = Annotated[
    JobStarted
    | StepStarted
    | StepFinished
    | CandidateSeen
    | EvaluationDone
    | LLMCall
    | Decision
    | BestChanged
    | MetricLogged
    | Activity
    | ErrorRaised
    | BudgetReached
    | Scored
    | JobFinished,
    Field(discriminator="kind"),
]
