"""Settings of `Agent`."""

from __future__ import annotations

from pydantic import Field

from tracebench_trainers_ext.settings.base import ForeignSettings


class AgentSettings(ForeignSettings):
    """Which coding agent works, and what it is told beside the task."""

    argv: tuple[str, ...] = Field(min_length=1)
    """The command; `{task}` in an argument becomes the task in words, which is also in `TASK.md`."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for it, beside those that lead it to the gateway on both wires."""
    instructions: str = ""
    """Words of your own below the task."""
