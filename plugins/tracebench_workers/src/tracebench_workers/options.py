"""The options of a run that serves workers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracebench_core.errors import ConfigError
from tracebench_core.specs import Resources, RunConfig


class Serving(BaseModel):
    """How any run serves workers, whoever starts them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    plugin: ClassVar[str] = "workers"
    """Whose options they are: `plugins.options.<plugin>`."""

    listen: str = Field(
        default="", pattern=r"^$|^[^\s/]+:0*([0-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$"
    )
    """Address and port at which workers may join, such as `0.0.0.0:7400`; empty: one of this machine's loopback alone."""
    reach: str = Field(
        default="", pattern=r"^$|^[^\s/]+:0*([0-5]?\d{1,4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$"
    )
    """Where workers find that address, if they know it by another name: `head.cluster:7400`."""
    ticket: str = ""
    """A file for the ticket with which workers join, for its owner alone; empty: a temporary one, whose path is told."""
    lease: float = Field(default=30.0, ge=2.0, le=3600.0)
    """Seconds for which a worker may be silent until its jobs are run elsewhere; before that it ends them itself."""

    files: Literal["auto", "shared", "streamed"] = "auto"
    """`shared`: jobs write into the run directory, which each worker must see; `streamed`: their files go over the connection; `auto`:
    the former where a worker sees it."""


class Placing(Serving):
    """How a run has workers placed by something else, each alike."""

    workers: int = Field(default=0, ge=0, le=1000)
    """Workers; 0: as many as `max_workers` jobs at a time take."""
    jobs: int = Field(default=1, ge=1, le=1024)
    """Jobs at a time of each worker."""

    def number(self, max_workers: int) -> int:
        """Return how many workers a run starts."""
        return self.workers or math.ceil(max_workers / self.jobs)


class Options(Serving):
    """`plugins.options.workers` of a config."""

    start: int = Field(default=0, ge=0, le=256)
    """Workers that the run starts on its own machine; 0: one where it does not `listen`, none where it does."""


def checked(plugin: str, model: type[Serving], options: Mapping[str, Any]) -> None:
    """Read the options of a plugin that serves workers, so that a mistake is told before anything is run.

    Raises:
        ConfigError: for an option that there is not, or that says nothing.
    """
    try:
        model.model_validate(options)
    except ValidationError as err:
        first = err.errors()[0]
        where = ".".join(map(str, ("plugins", "options", plugin, *first["loc"])))
        known = ", ".join(model.model_fields)
        raise ConfigError(f"`{where}`: {first['msg']}.", hint=f"options of {plugin}: {known}") from err


def outlook(config: RunConfig, _need: Resources) -> list[str]:
    """Return in sentences where jobs of a config would run."""
    options = Options.model_validate(config.plugins.options.get("workers", {}))
    number = options.start or (0 if options.listen else 1)
    found = (
        [f"{number} of its own on this machine, which may run {config.max_workers} jobs at a time"] if number else []
    )
    if options.listen:
        reach = f", as {options.reach}" if options.reach else ""
        ticket = options.ticket or "FILE"
        found.append(f"workers that join at {options.listen}{reach}: trace-bench worker --ticket {ticket} --jobs N")
    return found
