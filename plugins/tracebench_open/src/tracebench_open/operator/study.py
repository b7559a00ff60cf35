"""What an agent may ask for: tasks, trainers, seeds and caps of a job. Models, prices, addresses and programs are the person's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, JsonValue, field_validator

from tracebench_core.errors import UsageError
from tracebench_core.ids import did_you_mean
from tracebench_open.bench.plan import BASELINES, FOREIGN, OWN

ALLOWED = (*BASELINES, *OWN, *FOREIGN)
"""Trainers that start no program of the caller's choice."""
MOST_JOBS_AT_ONCE = 4


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Task(_Asked):
    """A task of an installed suite."""

    id: str = Field(pattern=r"^[A-Za-z0-9_.-]+:[A-Za-z0-9_./-]+$", max_length=200)
    eval_kwargs: dict[str, JsonValue] = {}

    @field_validator("id")
    @classmethod
    def _is_no_file(cls, id_: str) -> str:
        if ".py" in id_ or ".." in id_ or id_.startswith((".", "/")):
            raise ValueError("a task is `suite:name`, and no file")
        return id_


class Caps(_Asked):
    """Caps of each job."""

    evaluations: int | None = Field(default=None, ge=0)
    llm_calls: int | None = Field(default=None, ge=0)
    tokens: int | None = Field(default=None, ge=0)
    usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    seconds: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class Study(_Asked):
    """A question: which of these trainers is better on these tasks."""

    tasks: list[Task] = Field(min_length=1, max_length=50)
    trainers: list[str] = Field(min_length=1, max_length=40)
    """Names of trainers, at their defaults."""
    seeds: list[int] = Field(min_length=1, max_length=100)
    budget: Caps
    model: str | None = None
    """One of those that the person allowed; the first where None."""


def config_of(
    study: Study,
    *,
    models: Mapping[str, Mapping[str, Any]],
    trainers: Sequence[str],
    run_id: str,
    usd: float,
    runs_dir: str,
) -> dict[str, Any]:
    """Return the run config of a study: what may be spent, and at which prices, is the person's word alone.

    Raises:
        UsageError: for a trainer or a model that was not allowed.
    """
    for name in study.trainers:
        if name not in trainers:
            raise UsageError(f"Trainer `{name}` was not allowed.{did_you_mean(name, trainers)}")
    model = study.model or next(iter(models))
    if model not in models:
        raise UsageError(f"Model `{model}` was not allowed.{did_you_mean(model, models)}")
    return {
        "run_id": run_id,
        "runs_dir": runs_dir,
        "mode": "real",
        "seeds": study.seeds,
        "max_workers": MOST_JOBS_AT_ONCE,
        "budget": study.budget.model_dump(exclude_none=True),
        "run_budget": {"usd": usd, "strict": True},
        "llm": dict(models[model]),
        "tasks": [task.model_dump() for task in study.tasks],
        "trainers": list(study.trainers),
    }
