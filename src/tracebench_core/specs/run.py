"""`RunConfig`: what a user writes, typed and closed."""

from __future__ import annotations

import math
import os
import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Discriminator, Field, FiniteFloat, JsonValue, Tag, field_validator, model_validator

from tracebench_core.specs.base import Mode, Spec
from tracebench_core.specs.budget import Budget
from tracebench_core.specs.models import LLMConfig, LLMVariant
from tracebench_core.specs.named import PluginsConfig
from tracebench_core.specs.salts import PUBLIC

Resume = Literal["auto", "failed", "none"]
FORBIDDEN_IN_RUN_ID = frozenset("/\\")
LONGEST_RUN_ID = 128
MOST_SWEPT = 1_000
"""Values of one swept setting."""


class InitialFrom(Spec):
    """Where a task's training begins: with what a finished job found."""

    run: str
    """The run, by its folder or by its name in `runs_dir`."""
    job: str | None = Field(default=None, min_length=1)
    """The job, by its id or the beginning of it. By default the run's only job of this task."""
    take: Literal["best", "front"] = "best"
    """Its best candidate, or all that no other dominates, on a task with several objectives."""


class TaskEntry(Spec):
    """One task, or a group of them, and what its evaluation is given."""

    id: str = Field(min_length=1)
    """`suite:name`, or `suite:group` and `suite:all` for several."""
    eval_kwargs: dict[str, Any] = {}
    """Options of the task."""
    initial: InitialFrom | None = None
    """Begin from what a job of another run found; scores are still compared with the task's own initial candidate."""


class SweepRange(Spec):
    """Evenly spaced values from `low` to `high`, both included."""

    low: FiniteFloat
    high: FiniteFloat
    count: int | None = Field(default=None, ge=2, le=MOST_SWEPT)
    """How many; or `step`."""
    step: FiniteFloat | None = Field(default=None, gt=0)
    """How far apart. Whole bounds and a whole step give whole numbers."""
    scale: Literal["linear", "log"] = "linear"
    """`log`: evenly spaced ratios; needs `count` and positive bounds."""

    @model_validator(mode="after")
    def _says_how_many(self) -> SweepRange:
        if self.high <= self.low:
            raise ValueError("`high` must be above `low`")
        if (self.count is None) == (self.step is None):
            raise ValueError("give one of `count` and `step`")
        if self.step is not None and (self.high - self.low) / self.step >= MOST_SWEPT:
            raise ValueError(f"from `low` to `high` by `step` are more than {MOST_SWEPT:,} values")
        if self.scale == "log" and (self.low <= 0 or self.count is None):
            raise ValueError("`scale: log` needs `count` and a positive `low`")
        if not math.isfinite(self.high / self.low if self.scale == "log" else self.high - self.low):
            raise ValueError("`low` and `high` are further apart than a float holds")
        return self

    def values(self) -> tuple[float | int, ...]:
        """Return the values, lowest first."""
        if self.step is not None:
            number = math.floor((self.high - self.low) / self.step + 1e-9) + 1
            return tuple(_plain(self.low + i * self.step) for i in range(number))
        assert self.count is not None  # noqa: S101 - validated above
        shares = [i / (self.count - 1) for i in range(self.count)]
        if self.scale == "log":
            return tuple(_plain(self.low * (self.high / self.low) ** share) for share in shares)
        return tuple(_plain(self.low + share * (self.high - self.low)) for share in shares)


def _how_swept(value: Any) -> str:
    return OF_RANGE if isinstance(value, dict | SweepRange) else OF_VALUES


OF_VALUES, OF_RANGE = "<values>", "<range>"
"""What a swept setting is written as, in the place of an error."""
Swept: TypeAlias = Annotated[
    Annotated[tuple[JsonValue, ...], Tag(OF_VALUES)] | Annotated[SweepRange, Tag(OF_RANGE)], Discriminator(_how_swept)
]


class TrainerEntry(Spec):
    """One trainer with its parameter variants."""

    id: str = Field(min_length=1)
    label: str = Field(default="", max_length=60)
    """What tables and pictures call it in place of its id; where one label stands for several variants, what differs is added. No part
    of a job's identity."""
    params_variants: tuple[dict[str, Any], ...] = ({},)
    """Settings of the trainer; each variant is a column of the matrix."""
    sweep: dict[str, Swept] = {}
    """By setting, the values or the range that it takes; all combinations, crossed with `params_variants`. A setting of the
    proposer is written `optimizer_kwargs.<name>`."""
    optimizer: str | None = None
    """The proposer inside the trainer. By default the trainer's own choice."""
    optimizer_kwargs: dict[str, Any] = {}
    """Settings of the proposer."""
    guide: str | None = None
    """A scorer in place of the task's own."""
    guide_kwargs: dict[str, Any] = {}
    """Settings of the guide."""
    logger: str | None = None
    """A sink of each job's events; `none` for none."""
    logger_kwargs: dict[str, Any] = {}
    """Settings of the logger."""

    @field_validator("label")
    @classmethod
    def _one_line(cls, label: str) -> str:
        if label != label.strip() or not label.isprintable():
            raise ValueError("a label is one line of printable characters, without blanks around it")
        return label

    @field_validator("params_variants")
    @classmethod
    def _at_least_one(cls, variants: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        return variants or ({},)


class ProgramsConfig(Spec):
    """What one program of a trainer, with all that it starts, may use."""

    processes: int | None = Field(default=4096, ge=16)
    """Processes and threads at a time; `null` for no limit."""
    memory_mb: int | None = Field(default=None, gt=0)
    """Megabytes: of all together where this user may make control groups, else what each process has to itself, without memory that it
    shares and files in memory; no limit when None."""


class SandboxConfig(Spec):
    """How candidate code is held, and programs of trainers."""

    require: Literal["auto", "strong", "process"] = "auto"
    """`auto` takes Landlock with seccomp, or else namespaces, and refuses to run where there is neither. `strong` demands the former.
    `process` runs unprotected where nothing better is to be had."""
    memory_mb: int = Field(default=2048, gt=0)
    """Megabytes that one evaluation may use."""
    programs: ProgramsConfig = ProgramsConfig()
    """Limits of the programs that trainers start."""
    readable: tuple[str, ...] = ()
    """Further folders that candidates and commands may read, such as `~/.elan`; never a home as a whole."""


class RetriesConfig(Spec):
    """Which jobs are run again within the run, after all others."""

    failed: int = Field(default=0, ge=0)
    """How often a failed job is run again."""
    error_types: tuple[str, ...] = ()
    """Only those that failed with one of these, as `error.type` names them; empty for all."""
    backoff: float = Field(default=1.0, ge=0)
    """Seconds before the first of them; doubled before each further one."""


def _plain(value: float) -> float | int:
    """Return a number without the noise of its last digits, and a whole one as such."""
    rounded = float(f"{value:.12g}")
    return int(rounded) if rounded.is_integer() else rounded


class RunConfig(Spec):
    """A run: the matrix, the budgets, the models, and where results go."""

    run_id: str | None = None
    """Name of the run's folder. By default it is made of the time and a hash of the config."""
    runs_dir: str = "runs"
    """The folder that holds all runs."""
    share: Literal["private", "group", "world"] = "private"
    """Who besides you may read the run's folder: nobody, the group that it belongs to, or everybody on the machine."""
    mode: Mode = "stub"
    """`stub` asks no model, `real` does, `replay` answers from a recorded run."""
    replay_from: str | None = None
    """For `mode: replay`: the run whose recorded exchanges answer."""
    seeds: tuple[int, ...] = (123,)
    """One job for each seed. A range holds both of its ends: `1..8`, or `[1..8, 20]`."""
    max_workers: int = Field(default=1, ge=1)
    """Jobs at a time."""
    eval_workers: int = Field(default=1, ge=1)
    """How many examples one job evaluates at a time; changes nothing but time."""
    salt: str | None = Field(default=None, repr=False)
    """What generated instances of validation and test are drawn from: `NEW` secrets for this run alone, those that follow from 32 or more
    hex digits, or a `public` seed, so that anybody can compute them. By default two secrets that all runs of `runs_dir` share."""
    fail_fast: bool = False
    """Start no further job once one has failed."""
    retries: RetriesConfig = RetriesConfig()
    """Which jobs are run again within the run."""
    resume: Resume = "auto"
    """How to treat jobs that an earlier start finished: `auto` skips them, `failed` runs those again that failed, `none` all."""
    job_timeout: float | None = Field(default=None, ge=0)
    """Seconds that a job may train; 0 for no limit. By default 3600, and 600 in real mode."""
    scoring_timeout: float = Field(default=1800.0, ge=0)
    """Seconds that one evaluation (of a task that measures batches, one batch) may take when the engine scores a job; 0 for no limit. A
    scoring that reports nothing for so long is ended and tried again, twice at most."""
    evaluation_retries: int = Field(default=1, ge=0)
    """Further attempts at an evaluation that could not be measured because the infrastructure failed."""
    fail_on_error: float = Field(default=0.2, ge=0, le=1)
    """The share of a job's evaluations that may stay unmeasured; above it the job fails."""
    uncalibrated: Literal["refuse", "score"] = "refuse"
    """What becomes of the jobs of a timed task whose calibration does not pass on this machine: they are skipped with the reason, or scored
    and marked."""
    budget: Budget = Budget()
    """Per job."""
    run_budget: Budget = Budget()
    """For all jobs together."""
    scoring_budget: Budget = Budget()
    """Per job, for the model calls of the engine's own scoring, which do not count against `budget`: `llm_calls`, `tokens` and `usd`.
    A job whose scoring reaches it is `unscored`."""
    executor: str = "local"
    """Where jobs run."""
    llm: LLMConfig = LLMConfig()
    """How models are reached."""
    llm_variants: tuple[LLMVariant, ...] = ()
    """Models as an axis of the matrix, crossed with tasks, trainers and seeds; each is laid over `llm`. None: `llm` alone."""
    sandbox: SandboxConfig = SandboxConfig()
    """How candidate code, and programs of trainers, are isolated."""
    plugins: PluginsConfig = PluginsConfig()
    """Which plugins may be used, and their options."""
    tags: tuple[str, ...] = ()
    """Copied into the manifest and the summary."""
    eval_kwargs: dict[str, Any] = {}
    """Merged under each task's own, where the task knows the option."""
    trainer_kwargs: dict[str, Any] = {}
    """Merged under each variant, where the trainer knows the setting."""
    optimizer_kwargs: dict[str, Any] = {}
    """Merged under each trainer's own, where the proposer knows the setting."""
    tasks: tuple[TaskEntry, ...] = ()
    """What is optimised."""
    trainers: tuple[TrainerEntry, ...] = (TrainerEntry(id="SequentialRefine"),)
    """What optimises it."""

    @field_validator("run_id")
    @classmethod
    def _stays_in_runs_dir(cls, run_id: str | None) -> str | None:
        if run_id is None:
            return None
        if run_id in {"", ".", ".."} or FORBIDDEN_IN_RUN_ID & set(run_id):
            raise ValueError("a run id is one folder name inside `runs_dir`")
        if not run_id.isprintable() or run_id.startswith("-") or len(run_id.encode()) > LONGEST_RUN_ID:
            raise ValueError(f"a run id is printable, does not begin with `-`, and has at most {LONGEST_RUN_ID} bytes")
        return run_id

    @field_validator("salt")
    @classmethod
    def _names_a_salt(cls, salt: str | None) -> str | None:
        if salt in {None, "NEW", PUBLIC} or (re.fullmatch(r"(?:[0-9a-f]{2}){16,}", salt or "")):
            return salt
        raise ValueError(
            "a salt is `NEW`, `public`, or an even number of at least 32 hex digits (in quotes, lower case)"
        )

    @field_validator("scoring_budget")
    @classmethod
    def _of_calls(cls, budget: Budget) -> Budget:
        if budget.evaluations is not None or budget.seconds is not None:
            raise ValueError(
                "scoring makes as many evaluations as its splits have examples, and `scoring_timeout` is its time"
            )
        return budget

    @field_validator("seeds")
    @classmethod
    def _some_seed(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return seeds or (123,)

    @field_validator("runs_dir", "replay_from")
    @classmethod
    def _at_home(cls, path: str | None) -> str | None:
        if path is not None and "\0" in path:
            raise ValueError("a path holds no NUL character")
        return path if path is None else os.path.expanduser(path)  # noqa: PTH111 - a text, as it stays in the config

    @model_validator(mode="after")
    def _replay_has_a_source(self) -> RunConfig:
        if self.mode == "replay" and not self.replay_from:
            raise ValueError("`mode: replay` needs `replay_from`, the run to take the recorded exchanges from")
        return self

    @property
    def timeout(self) -> float | None:
        """Seconds a job may take, or None for no limit."""
        seconds = self.job_timeout if self.job_timeout is not None else (600.0 if self.mode == "real" else 3600.0)
        return seconds or None
