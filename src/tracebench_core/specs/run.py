"""`RunConfig`: what a user writes, typed and closed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from tracebench_core.specs.base import Mode, Role, Spec
from tracebench_core.specs.job import Budget

Resume = Literal["auto", "failed", "none"]
FORBIDDEN_IN_RUN_ID = frozenset("/\\\0")


class TaskEntry(Spec):
    """One task, or a group of them, and what its evaluation is given."""

    id: str
    eval_kwargs: dict[str, Any] = {}


class TrainerEntry(Spec):
    """One trainer with its parameter variants."""

    id: str
    params_variants: tuple[dict[str, Any], ...] = ({},)
    optimizer: str | None = None
    optimizer_kwargs: dict[str, Any] = {}
    guide: str | None = None
    guide_kwargs: dict[str, Any] = {}
    logger: str | None = None
    logger_kwargs: dict[str, Any] = {}

    @field_validator("params_variants")
    @classmethod
    def _at_least_one(cls, variants: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
        return variants or ({},)


class Price(Spec):
    """USD per million tokens."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)
    cached: float | None = Field(default=None, ge=0)
    """For prompt tokens served from the provider's cache; the prompt price when None."""


class ModelConfig(Spec):
    """How one role's model is reached."""

    provider: str | None = None
    model: str | None = None
    base_url: str | None = None
    api_key_env: str | None = None
    """The *name* of the variable that holds the key. Keys themselves have no place in a config."""
    temperature: float | None = None
    max_tokens: int | None = Field(default=None, gt=0)


class LLMConfig(ModelConfig):
    """The one door to language models. The fields of `ModelConfig` are the default of every role."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())

    roles: dict[Role, ModelConfig] = {}
    stub: Literal["mutate", "empty"] = "mutate"
    """`mutate` perturbs the current values by the seed; `empty` proposes nothing. Neither is a language model."""
    timeout: float = Field(default=120.0, gt=0)
    """Seconds for one attempt."""
    max_retries: int = Field(default=4, ge=0)
    max_concurrency: int = Field(default=16, gt=0)
    requests_per_minute: float | None = Field(default=None, gt=0)
    record: bool = False
    """Keep every exchange, so that `mode: replay` can repeat the run without a model."""
    cache: Literal["off", "run", "shared"] = "off"
    """Reuse identical calls at temperature 0."""
    prices: dict[str, Price] = {}
    """By model name; these win over the built-in price map."""


class PluginsConfig(Spec):
    """Which plugins may be used, and what they are told."""

    exclude: tuple[str, ...] = ()
    """Ids that discovery must not offer in this run."""
    options: dict[str, dict[str, Any]] = {}
    """By plugin name, handed to its `tracebench_configure`."""


class SandboxConfig(Spec):
    """How candidate code is held."""

    require: Literal["process", "strong"] = "process"
    """`strong` refuses to run where neither Landlock with seccomp nor namespaces are available."""
    memory_mb: int = Field(default=2048, gt=0)


class RunConfig(Spec):
    """A run: the matrix, the budgets, the models, and where results go."""

    run_id: str | None = None
    runs_dir: str = "runs"
    mode: Mode = "stub"
    replay_from: str | None = None
    """For `mode: replay`: the run whose recorded exchanges answer."""
    seeds: tuple[int, ...] = (123,)
    max_workers: int = Field(default=1, ge=1)
    eval_workers: int = Field(default=1, ge=1)
    """How many examples one job evaluates at a time; changes nothing but time."""
    fail_fast: bool = False
    resume: Resume = "auto"
    job_timeout: float | None = Field(default=None, ge=0)
    """Seconds; 0 for no limit. When None: no limit in stub and replay mode, 600 in real mode."""
    budget: Budget = Budget()
    """Per job."""
    run_budget: Budget = Budget()
    """For all jobs together."""
    executor: str = "local"
    llm: LLMConfig = LLMConfig()
    sandbox: SandboxConfig = SandboxConfig()
    plugins: PluginsConfig = PluginsConfig()
    tags: tuple[str, ...] = ()
    eval_kwargs: dict[str, Any] = {}
    """Merged under each task's own, where the task knows the option."""
    trainer_kwargs: dict[str, Any] = {}
    """Merged under each variant, where the trainer knows the setting."""
    optimizer_kwargs: dict[str, Any] = {}
    tasks: tuple[TaskEntry, ...] = ()
    trainers: tuple[TrainerEntry, ...] = (TrainerEntry(id="PrioritySearch"),)

    @field_validator("run_id")
    @classmethod
    def _stays_in_runs_dir(cls, run_id: str | None) -> str | None:
        if run_id is not None and (run_id in {"", ".", ".."} or FORBIDDEN_IN_RUN_ID & set(run_id)):
            raise ValueError("a run id is one folder name inside `runs_dir`")
        return run_id

    @field_validator("seeds")
    @classmethod
    def _some_seed(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        return seeds or (123,)

    @model_validator(mode="after")
    def _replay_has_a_source(self) -> RunConfig:
        if self.mode == "replay" and not self.replay_from:
            raise ValueError("`mode: replay` needs `replay_from`, the run to take the recorded exchanges from")
        return self

    @property
    def timeout(self) -> float | None:
        """Seconds a job may take, or None for no limit."""
        seconds = self.job_timeout if self.job_timeout is not None else (600.0 if self.mode == "real" else 0.0)
        return seconds or None
