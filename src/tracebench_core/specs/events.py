"""The events of a job: what happened, in order, one JSON object a line. They are the truth of the job.

Every other file of a job is reduced from them. Fields common to all are set by the writer: `v` (format version), `seq`
(gap-free, from 0), `t` (UTC) and `mono` (seconds since the job started).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Discriminator, JsonValue, Tag

from tracebench_core.specs.base import Mode, Role, Spec, Split
from tracebench_core.specs.budget import Axis, Budget, BudgetState
from tracebench_core.specs.feedback import FeedbackStatus, Raised
from tracebench_core.specs.job import Cage, Calibrated, JobStatus, Judge, ModelIdentity, Runtime, SplitData
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
    label: str = ""
    """What the config calls the trainer."""
    models: dict[Role, ModelIdentity] = {}
    """Who answers each role."""
    params: dict[str, Any]
    seed: int
    budget: Budget
    mode: Mode
    versions: dict[str, JsonValue]
    objectives: tuple[Objective, ...] = ()
    """The task's, when it has several: the front is reduced by them."""
    worst_score: float | None = None
    """What an example counts for on which a candidate fails."""
    aggregate: str = "mean"
    reads_budget: bool = False
    """Whether the trainer does different things under different caps, so that its log does not show what it would do under another."""
    self_reported: tuple[str, ...] = ()
    """The task's metrics, or `score`, that the candidate itself prints."""
    content: str = ""
    """The task's metric that splits a gain into form and content."""
    calibration: Calibrated | None = None
    """Of the task, when the job began; None where nobody asked."""
    runtime: Runtime | None = None
    """What the job's process runs with."""


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
    reused: bool = False
    """Taken from an earlier evaluation of the same values on the same example."""
    reused_from: str = ""
    """The attempt that measured it, where that was another one: its path in the run directory."""
    digest: str = ""
    """Where an attempt that comes later may reuse it: 16 hex digits for what was measured, and 16 for what came of it."""
    raised: Raised | None = None
    """Where the task's own code raised, when an exception took the place of feedback."""


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
    written_tokens: int = 0
    """The part of `prompt_tokens` that was written to the provider's cache."""
    reasoning_tokens: int = 0
    """The part of `completion_tokens` that was thought and not said."""
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
    doing: str
    """`generating`, `evaluating`, `waiting`, `scoring`, or a suite's own words."""
    done: int | None = None
    total: int | None = None
    notice: bool = False
    """Whether every reporter says it at once."""


class SuiteRecord(Event):
    """What a suite wants kept of an evaluation."""

    kind: Literal["record"] = "record"
    name: str
    """`<suite>.<name>`."""
    data: dict[str, JsonValue]
    candidate: str
    example: str
    step: int | None = None


class ExamplesKnown(Event):
    """The examples that the trainer may evaluate on, in their order."""

    kind: Literal["examples"] = "examples"
    train: tuple[str, ...]
    validation: tuple[str, ...]


class DataKnown(Event):
    """The data that the process which scores has before it."""

    kind: Literal["data"] = "data"
    splits: dict[Split, SplitData]


class ComparisonSet(Event):
    """From now on candidates are compared on these examples."""

    kind: Literal["comparison_set"] = "comparison_set"
    examples: tuple[str, ...]


class Proposals(Event):
    """What became of what a model was asked to propose; counts of one occasion, to be added up."""

    kind: Literal["proposals"] = "proposals"
    asked: int = 0
    usable: int = 0
    duplicate: int = 0
    invalid: int = 0
    step: int | None = None


class Flagged(Event):
    """Something that a reader of this job's numbers must know."""

    kind: Literal["flag"] = "flag"
    name: str
    """Such as `order-dependent`."""
    reason: str = ""


class EnvironmentUsed(Event):
    """An environment was opened or closed for this job, or could not be."""

    kind: Literal["environment"] = "environment"
    name: str
    scope: Literal["run", "job", "evaluation"] | None
    """None where it was not opened."""
    what: Literal["opened", "closed", "failed"]
    seconds: float = 0.0
    reason: str = ""


class Caged(Event):
    """An agent or a program is about to run for this job, held like this."""

    kind: Literal["cage"] = "cage"
    name: str
    """Of the participant, in the words of its trainer."""
    cage: Cage


class TrainingEnded(Event):
    """Training is over; what the engine measures afterwards follows."""

    kind: Literal["trained"] = "trained"
    status: JobStatus
    stop_reason: str
    used: BudgetState
    seconds: float


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
    what: Literal["initial", "best", "final", "finalist"]
    split: Split
    candidate: str
    score: float | None
    metrics: dict[str, float]
    repeats: tuple[float, ...] = ()
    """Each measurement, where the candidate was measured several times; `score` is their mean."""
    judge: Judge | None = None
    """What gave the score; None where it was not told."""


class JobFinished(Event):
    """The last event."""

    kind: Literal["job_finished"] = "job_finished"
    status: JobStatus
    stop_reason: str
    used: BudgetState = BudgetState()
    seconds: float = 0.0


class UnknownEvent(Event):
    """An event of a kind, or of a version, that is not known here: kept, and passed over by every reducer."""

    model_config = ConfigDict(frozen=True, extra="allow")

    kind: str


_KINDS: tuple[type[Event], ...] = (
    JobStarted, StepStarted, StepFinished, CandidateSeen, EvaluationDone, LLMCall, Decision, BestChanged, MetricLogged,
    Activity, SuiteRecord, ExamplesKnown, DataKnown, ComparisonSet, Proposals, Flagged, EnvironmentUsed, Caged, TrainingEnded, ErrorRaised,
    BudgetReached, Scored, JobFinished,
)  # fmt: skip
KNOWN: dict[str, type[Event]] = {str(event.model_fields["kind"].default): event for event in _KINDS}
"""The events that are known here, by kind."""


def _kind_of(value: Any) -> str:
    if not isinstance(value, dict):
        return str(getattr(value, "kind", "none"))
    kind, version = value.get("kind"), value.get("v", EVENTS_VERSION)
    if not isinstance(kind, str):
        return "none"
    return kind if kind in KNOWN and isinstance(version, int) and version <= EVENTS_VERSION else "unknown"


AnyEvent = Annotated[
    Annotated[JobStarted, Tag("job_started")]
    | Annotated[StepStarted, Tag("step_started")]
    | Annotated[StepFinished, Tag("step_finished")]
    | Annotated[CandidateSeen, Tag("candidate")]
    | Annotated[EvaluationDone, Tag("evaluation")]
    | Annotated[LLMCall, Tag("llm_call")]
    | Annotated[Decision, Tag("decision")]
    | Annotated[BestChanged, Tag("best")]
    | Annotated[MetricLogged, Tag("metric")]
    | Annotated[Activity, Tag("activity")]
    | Annotated[SuiteRecord, Tag("record")]
    | Annotated[ExamplesKnown, Tag("examples")]
    | Annotated[DataKnown, Tag("data")]
    | Annotated[ComparisonSet, Tag("comparison_set")]
    | Annotated[Proposals, Tag("proposals")]
    | Annotated[Flagged, Tag("flag")]
    | Annotated[EnvironmentUsed, Tag("environment")]
    | Annotated[Caged, Tag("cage")]
    | Annotated[TrainingEnded, Tag("trained")]
    | Annotated[ErrorRaised, Tag("error")]
    | Annotated[BudgetReached, Tag("budget")]
    | Annotated[Scored, Tag("scored")]
    | Annotated[JobFinished, Tag("job_finished")]
    | Annotated[UnknownEvent, Tag("unknown")],
    Discriminator(_kind_of),
]
"""Any event of a log. The union is open: a kind that is not known here is an `UnknownEvent`."""
