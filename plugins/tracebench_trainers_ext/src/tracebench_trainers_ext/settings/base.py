"""What every foreign trainer takes."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class ForeignSettings(BaseModel):
    """Where the library runs; what bounds its search comes from the budget."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    python: str | None = None
    """An interpreter, by path or by the name that `trace-bench pythons create` gave it; None: the job's own, else the library's."""
    files: Literal["folder", "host"] = "host"
    """What the library finds of the host's files: all (`host`), or the system, what is named, and the job's work folder, which alone it may
    write to (`folder`)."""
    readable: tuple[str, ...] = ()
    """For `files: folder`: further files and folders that it may read, by absolute names; `~` and `$NAME` are expanded."""
    num_threads: int | None = Field(default=None, ge=1)
    """Accepted for compatibility; how many examples are evaluated at a time is the run's `eval_workers`."""
    verbose: bool = False
    """Accepted for compatibility; a job's events say everything."""


class LibrarySettings(ForeignSettings):
    """A library whose own settings can all be reached."""

    library: dict[str, JsonValue] = Field(default_factory=dict)
    """The library's own settings by its own names, laid over what the bench passes. What it does not know, and what the bench holds (data,
    models, seeds, caps, logs), is refused with the nearest name before anything is spent."""


class SampledSettings(LibrarySettings):
    """A library whose model is asked by our client."""

    temperature: float | None = Field(default=None, ge=0)
    """Of the proposer; None leaves it to the run's model settings."""
    max_tokens: int | None = Field(default=None, ge=1)
