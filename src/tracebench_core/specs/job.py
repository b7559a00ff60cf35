"""One job of the matrix, what it may use, what it used, and how it ended."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, JsonValue

from tracebench_core.ids import suite_of
from tracebench_core.specs.base import ManySpec, Mode, Role, Spec, Split
from tracebench_core.specs.budget import Axis, Budget, BudgetState, Usage
from tracebench_core.specs.feedback import FeedbackStatus, Raised
from tracebench_core.specs.task import TaskVersion

JobStatus = Literal["ok", "failed", "timeout", "cancelled", "skipped", "not_run", "unscored"]
"""`unscored`: training is over and sealed, and its scoring could not be done; `resume --failed` repeats the scoring alone."""
Calibrated = Literal["here", "elsewhere", "never"]
"""Where the cases of known truth of a task came out right: on the machine that measured, on another one, or on none."""


class ModelIdentity(Spec):
    """Which model answers a role; two jobs with different models are different jobs."""

    provider: str
    model: str
    base_url: str | None = None
    temperature: float | None = None
    """Sent where a caller names none; None leaves it to the provider."""
    max_tokens: int | None = None
    others: tuple[tuple[str, ModelIdentity], ...] = ()
    """Further models that the role may ask, by the name they are asked for."""


class Start(Spec):
    """What a job begins from: candidates that another one found."""

    run: str
    job: str
    candidates: tuple[str, ...]
    """Their ids there, the best first."""
    values: tuple[dict[str, JsonValue], ...]


def _folder_name(name: str) -> str:
    """Refuse what is no name of a folder: a job's files lie in one that is called so, also where a stranger wrote the id.

    Raises:
        ValueError: when it is none.
    """
    if name in {"", ".", ".."} or "/" in name or "\0" in name:
        raise ValueError("no folder can be called so")
    return name


class JobSpec(Spec):
    """task x trainer x params x seed, fully resolved: all that a job process needs to know."""

    job_id: Annotated[str, AfterValidator(_folder_name)]
    """12 hex digits of the SHA-256 of what follows, without label, logger, timeout and the plugin's version."""
    task_id: str
    task_version: TaskVersion
    plugin_version: str
    trainer_id: str
    label: str = ""
    """What the config calls the trainer; empty where it gives no other name than its id."""
    params: dict[str, Any]
    """As written in the config."""
    settings: dict[str, Any]
    """Resolved: aliases mapped, defaults filled in."""
    optimizer: str | None
    optimizer_kwargs: dict[str, Any]
    guide: str | None
    guide_kwargs: dict[str, Any]
    logger: str | None
    logger_kwargs: dict[str, Any]
    eval_kwargs: dict[str, Any]
    seed: int
    mode: Mode
    models: dict[Role, ModelIdentity]
    llm_variant: str = ""
    """Which of the config's `llm_variants` answers, by name; empty where there are none."""
    budget: Budget
    salt: str | None = None
    """Of a task with generated instances: a name made of the salts' hashes, or `public`; None for any other task."""
    start: Start | None = None
    """Begins from the task's own initial candidate when None."""
    timeout: float | None = None
    """Seconds after which the job is ended from outside; None for no limit."""

    @property
    def suite(self) -> str:
        """The prefix of the task id."""
        return suite_of(self.task_id)

    @property
    def called(self) -> str:
        """What people read: the trainer's label, or its id."""
        return self.label or self.trainer_id


class StepResult(ManySpec):
    """One optimisation step, as the per-step list of `results.json` keeps it."""

    index: int
    score: float | None
    best: float | None
    seconds: float
    used: BudgetState


class ErrorInfo(Spec):
    """An error as files and screens show it."""

    type: str
    message: str
    traceback: str = ""


class FrontPoint(Spec):
    """One candidate that no other dominates, on a multi-objective task."""

    candidate: str
    metrics: dict[str, float]


class ProposalCounts(Spec):
    """What became of what a model was asked to propose."""

    asked: int = 0
    usable: int = 0
    duplicate: int = 0
    """It changed nothing."""
    invalid: int = 0
    """It could not be read, or held no value that may be evaluated."""


class SplitData(Spec):
    """The data of one split of a task, as a job found it."""

    examples: int
    sha256: str | None = None
    """Of the examples' ids, inputs and references; None where they are no data that can be told apart by its text."""


class Judge(Spec):
    """What gave a score, so that scores of different judges are told apart."""

    version: str
    """Of the task and of the plugin that brings it, for people."""
    digest: str
    """16 hex digits of the SHA-256 of everything that scores; equal digests are one judge."""


class Runtime(Spec):
    """The interpreter and the packages that a job's process ran with."""

    python: str
    """Implementation and version, such as `CPython 3.12.1`."""
    packages: str
    """16 hex digits of the SHA-256 of the names and versions of all installed packages: jobs with other packages have another.
    `meta/env.json` lists those with which the run began."""


class RaisedCount(Raised):
    """A place, and how many evaluations met an exception there."""

    count: int


class Cage(Spec):
    """How an agent or a program was held while a job ran it."""

    files: Literal["folder", "host"]
    """`folder`: it could write its own folder, and read that and what was named; `host`: it had the files of the host."""
    reason: str = ""
    """Why it was held less well than by default."""


class Gain(Spec):
    """What the chosen candidate scores above the initial one, by what the outputs hold and by how they say it; the two add up to it."""

    split: Split
    """Test, where both were tested; else what stood for validation."""
    content: float
    """New: what an extractor that knew the right answer would get out of the best candidate's outputs and not out of the initial one's."""
    form: float
    """The rest: what such an extractor would have got out of the initial candidate's outputs already."""


class JobResult(Spec):
    """The reduction of one job's events: `results.json`."""

    job_id: str
    task_id: str
    suite: str
    trainer_id: str
    seed: int
    mode: Mode
    status: JobStatus
    stop_reason: str
    """`completed`, `budget:<axis>`, `run budget:<axis>`, `scoring budget:<axis>`, `error`, `timeout`, `cancelled: <why>`,
    `requirement: <what>`, `not measured: <why>`.

    `run budget:<axis>` is `ok` where what had been found when the run's budget ended was scored; it carries the flag `unequal-budget`.
    """
    score_val_initial: float | None = None
    score_val_best: float | None = None
    score_val_final: float | None = None
    score_test_initial: float | None = None
    score_test: float | None = None
    metrics_initial: dict[str, float] = {}
    metrics_best: dict[str, float] = {}
    """Native metrics on validation."""
    best_candidate: str | None = None
    best_step: int | None = None
    steps: tuple[StepResult, ...] = ()
    front: tuple[FrontPoint, ...] = ()
    usage: dict[Role, Usage] = {}
    budget: Budget = Budget()
    used: BudgetState = BudgetState()
    usage_selection: BudgetState = BudgetState()
    """What the engine's own measurements took, which choose the winner and test it: charged to no budget of the job."""
    model_errors: int = 0
    """Model calls that were not answered, after all retries."""
    not_measured: int = 0
    """Evaluations that the infrastructure kept from being measured, of the trainer's and of the engine's."""
    reused: int = 0
    """Evaluations that took an earlier measurement's result."""
    proposals: ProposalCounts = ProposalCounts()
    flags: dict[str, str] = {}
    """What a reader of these numbers must know, with the reason."""
    overshoot: dict[Axis, float] = {}
    """How far past a cap, by axis: only calls that were in flight can do that."""
    time_seconds: float = 0.0
    """Of training, from the trainer's start; `used.seconds` counts from its first evaluation or model call, the difference is set-up."""
    feedback: str = ""
    error: ErrorInfo | None = None
    versions: dict[str, JsonValue] = {}
    data: dict[Split, SplitData] = {}
    """What was measured on, by split; empty where the job was not scored, and in runs of before this was told."""
    started_at: str | None = None
    ended_at: str | None = None
    evaluations_by_status: dict[FeedbackStatus, int] = {}
    """How the trainer's evaluations came out; a status that did not occur is left out. Empty in runs of before this was told."""
    exceptions: tuple[RaisedCount, ...] = ()
    """Where code of the task raised under the trainer's evaluations, the most frequent first."""
    score_val_repeats: tuple[float, ...] = ()
    """Each measurement of the best candidate on validation, where it was measured several times; `score_val_best` is their mean."""
    score_test_repeats: tuple[float, ...] = ()
    """The same on test, of `score_test`."""
    self_reported: tuple[str, ...] = ()
    """Names of metrics, or `score`, that the candidate itself printed and nothing else measured."""
    judge: Judge | None = None
    """What gave the scores; None where it was not told."""
    calibration: Calibrated | None = None
    """Where the task's instrument has shown that it measures rightly; None where it was not told."""
    runtime: Runtime | None = None
    """What the job ran with; None where it was not told."""
    cages: dict[str, Cage] = {}
    """How agents and programs that the job ran were held, by what they are called; empty where it ran none."""
    gain: Gain | None = None
    """None where the task does not measure form and content apart, or not of both candidates."""


ADDED_TO_RESULTS = (
    "evaluations_by_status", "exceptions", "score_val_repeats", "score_test_repeats", "self_reported", "judge", "calibration",
    "runtime", "cages", "gain",
)  # fmt: skip
"""Fields that results of 0.1 do not have, in the order in which they came: older journals vouch for texts without the last ones."""
