"""Settings of `Agent`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from tracebench_core.errors import UsageError
from tracebench_trainers_ext.settings.base import ForeignSettings


class AgentSettings(ForeignSettings):
    """Which coding agent works, and what it is told beside the task."""

    agent: str | None = None
    """One that `trace-bench agents list` shows: installed, started, pointed to the job's model and ended as its preset says."""
    argv: tuple[str, ...] = ()
    """The command of an agent of your own; with `agent`, further arguments for it. In each argument `{task}` becomes the task in words,
    which is also in `TASK.md`, `{model}` the model's name, `{key}` the job's key, `{base_url}` the gateway's address (ending in `/v1`;
    `{host_url}` without it), `{workdir}` the folder in which it works, `{home}` its home; the argument `{files}` becomes the names of
    the files."""
    env: dict[str, str] = Field(default_factory=dict)
    """Variables for it, with the same words in braces, beside those that lead it to the gateway."""
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
    silence: float | None = Field(default=600.0, gt=0)
    """Seconds without an answered model call and an evaluation after which it is ended and the job fails; after 60 (or half of it) that is
    said on the screen. None: never."""

    @model_validator(mode="after")
    def _names_one(self) -> AgentSettings:
        if self.agent is None and not self.argv:
            raise ValueError("name an `agent` (trace-bench agents list), or give the command of one as `argv`")
        if self.agent is not None:
            from tracebench_engine.api.agents import find_preset  # noqa: PLC0415 - plugins are looked for where one is named

            try:
                find_preset(self.agent)
            except UsageError as err:
                raise ValueError(str(err)) from err
        return self
