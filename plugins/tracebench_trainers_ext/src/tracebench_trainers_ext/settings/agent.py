"""Settings of `Agent`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tracebench_trainers_ext.settings.base import ForeignSettings


class AgentSettings(ForeignSettings):
    """Which coding agent works, and what it is told beside the task."""

    argv: tuple[str, ...] = Field(min_length=1)
    """The command; `{task}` in an argument becomes the task in words, which is also in `TASK.md`."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for it, beside those that lead it to the gateway on both wires."""
    network: Literal["gateway", "open"] = "gateway"
    """Of the network it reaches the run's models only (`gateway`), or all of it (`open`)."""
    files: Literal["folder", "host"] = "folder"
    """What it finds of the host's files: the system, what is named, and the job's work folder, which alone it may write to (`folder`), or
    all (`host`)."""
    copied: tuple[str, ...] = ()
    """For `files: folder`: its settings, as files and folders below your home that are copied into its own, such as
    `~/.config/agent/settings.json`. What keys they hold it can read."""
    instructions: str = ""
    """Words of your own below the task."""
