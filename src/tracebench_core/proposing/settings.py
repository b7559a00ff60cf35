"""Settings that every trainer of the workspace takes."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class TrainerSettings(BaseModel):
    """What every trainer of ours takes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    num_threads: int | None = Field(default=None, ge=1)
    """Accepted for compatibility; how many examples are evaluated at a time is the run's `eval_workers`."""
    verbose: bool = False
    """Accepted for compatibility; a job's events say everything."""
