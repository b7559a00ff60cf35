"""Settings of `TextGrad`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracebench_trainers_ext.settings.base import SampledSettings


class TextGradSettings(SampledSettings):
    """How the library descends; its own loop is the user's to write, and this is the one of its paper."""

    mode: Literal["direct", "graph"] = "direct"
    """`direct`: the feedback is the gradient, one call per variable and step. `graph`: one more call per example and variable."""
    num_steps: int = Field(default=12, ge=1)
    batch_size: int = Field(default=3, ge=1)
    """Examples whose feedback makes a gradient."""
    validation_revert: bool = True
    """Take a step back that validation does not like."""
    constraints: tuple[str, ...] = ()
    """Sentences that the optimizer is to respect."""
