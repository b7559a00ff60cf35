"""What is asked of a sandbox, and its typed answer."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from tracebench_core.specs.base import Spec

OutcomeStatus = Literal["ok", "error", "timeout", "memory", "killed", "forbidden", "invalid"]


class Limits(Spec):
    """What untrusted code may use."""

    seconds: float = Field(default=10.0, gt=0)
    """Processor time of the whole request: of all threads of a process, and of all that a command starts together. A machine that is busy
    with other things takes none of it. Looked at four times a second."""
    patience: float = Field(default=8.0, ge=1)
    """How many times `seconds` may pass on the clock, which ends what sleeps or hangs. At 1 the clock decides, busy machine or not, and
    each process of a command may use as much of a processor, rounded up to whole seconds."""
    memory_mb: int = Field(default=2048, gt=0)
    output_bytes: int = Field(default=8 << 20, gt=0)
    """Of the returned value, encoded."""
    file_mb: int = Field(default=64, ge=0)
    """Largest file that may be written in the private folder."""
    shared_mb: int = Field(default=0, ge=0)
    """Of a session: memory that its caller sees, too, as `Session.shared`; the process has it as descriptor 4, of this size for good."""
    core: int | None = Field(default=None, ge=0)
    """Of a session: the one core on which the process runs and all its threads do. A caller who is on it, too, reads `cpu_seconds` exactly:
    while the caller runs, the process does not. Elsewhere they may lack what has passed since the system's last tick."""

    @property
    def clock_seconds(self) -> float:
        """Seconds on the clock after which the request is ended, whatever it has had of a processor; of a session, those of its calls."""
        return self.seconds * self.patience


class Outcome(Spec):
    """How one call of untrusted code ended.

    `ok` holds a value. `error` is an exception of the code itself. `invalid` means that the code cannot be used at all (it does not
    parse, lacks the function, or returned what cannot be encoded). `forbidden` is an action that the lockdown refused.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    status: OutcomeStatus
    value: Any = None
    error: str = ""
    """One line for people and optimizers: what happened."""
    traceback: str = ""
    """The candidate's own frames only."""
    stdout: str = ""
    """What the code printed, cut to 4 kB from the front."""
    seconds: float = 0.0
    cpu_seconds: float | None = None
    """As the operating system counts it. In a session: the processor time of the code's process from the end of the call before to the
    end of this one. Of a command that came to its end: that of all that it started, what it left running included. None where it cannot be
    told: of a single call, of what was ended, and of a session in namespaces."""
