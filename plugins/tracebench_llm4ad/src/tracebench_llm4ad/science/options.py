"""Options of the science tasks: an instance is one data set."""

from __future__ import annotations

from pydantic import Field

from tracebench_llm4ad.options import TaskOptions


class ScienceOptions(TaskOptions):
    """As for every task; `n_instance` counts data sets."""

    n_instance: int = Field(default=2, ge=1, le=256)
    rows: int = Field(default=200, ge=20, le=5000)
    """Rows to fit on, and as many to be judged on."""
    noise: float = Field(default=0.01, ge=0, le=1)
    """Standard deviation of the noise on fitted targets, as a share of theirs."""
    spread: float = Field(default=0.2, ge=0, lt=1)
    """How far each constant of a data set lies from its nominal value at most, as a share of it; 0 gives the nominal law every time."""
