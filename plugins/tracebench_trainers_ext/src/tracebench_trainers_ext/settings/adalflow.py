"""Settings of `AdalFlow`; names are the library's own."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracebench_trainers_ext.settings.base import SampledSettings


class AdalFlowSettings(SampledSettings):
    """How the library's trainer descends; it knows no budget, and goes on for `max_steps`."""

    strategy: Literal["constrained", "random"] = "constrained"
    """`constrained`: proposals are tested on hard and easy examples of all batches; `random`: on the batch that they come from."""
    max_steps: int = Field(default=12, ge=1)
    train_batch_size: int = Field(default=4, ge=1)
    max_proposals_per_step: int = Field(default=5, ge=1)
    max_error_samples: int = Field(default=2, ge=1)
    max_correct_samples: int = Field(default=2, ge=0)
    perfect_score: float = 1.0
    """A batch that has it everywhere cannot be improved upon; proposals that keep it go on to validation."""
    max_past_history: int = Field(default=3, ge=0)
    max_failed_proposals: int = Field(default=5, ge=0)
