"""Options of the control tasks: an instance is one episode."""

from __future__ import annotations

from pydantic import Field

from tracebench_llm4ad.options import TaskOptions


class ControlOptions(TaskOptions):
    """As for every task; `n_instance` counts episodes."""

    n_instance: int = Field(default=3, ge=1, le=256)
