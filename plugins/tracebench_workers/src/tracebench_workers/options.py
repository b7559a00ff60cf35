"""The options of a run that serves workers."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Serving(BaseModel):
    """How any run serves workers, whoever starts them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

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


class Options(Serving):
    """`plugins.options.workers` of a config."""

    start: int = Field(default=0, ge=0, le=256)
    """Workers that the run starts on its own machine; 0: one where it does not `listen`, none where it does."""
