"""What a config may say under `eval_kwargs` of a KernelBench task."""

from __future__ import annotations

import os

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tracebench_kernelbench.catalog import SERVER

MOST_ROUNDS = 200
BY_RUN = "run"
"""In place of an address: the server that the run itself starts."""


class Effort(BaseModel):
    """How long a kernel is looked at."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    trials: int = Field(default=3, ge=1, le=20)
    """Calls whose outputs are compared with the truth in double precision. Which ones, a kernel cannot know; all others are compared with
    the reference's."""
    warm: int = Field(default=3, ge=1, le=50)
    """Rounds before times count."""
    least: int = Field(default=20, ge=5, le=MOST_ROUNDS)
    """Timed rounds at least."""
    most: int = Field(default=60, ge=5, le=MOST_ROUNDS)
    """Timed rounds at most."""
    budget_ms: int = Field(default=300, ge=0)
    """Milliseconds of processor time after which no further round begins, once the least are done."""
    call_seconds: float = Field(default=2.0, gt=0, le=60)
    """Seconds that one call may take."""
    compile_seconds: float = Field(default=30.0, gt=0, le=600)

    def divided(self, sessions: int) -> Effort:
        """Return what falls to each of so many processes: rounds by twos, in each of which another is first."""
        if sessions == 1:
            return self
        least, most = (2 * -(-rounds // (2 * sessions)) for rounds in (self.least, self.most))
        return self.model_copy(update={"least": least, "most": most, "budget_ms": self.budget_ms // sessions})

    @model_validator(mode="after")
    def _ordered(self) -> Effort:
        if self.least > self.most:
            raise ValueError(f"`least` ({self.least}) is more than `most` ({self.most})")
        return self


class Options(Effort):
    """Settings of a KernelBench task."""

    server: str | None = None
    """Address of an evaluation server that judges in the job's stead, or several with commas between; `run`: one that the run starts for
    all its jobs; None: `$KERNELBENCH_SERVER`, else the job judges."""
    server_token: str | None = None
    """The name of the variable that holds the server's token; None: `KERNELBENCH_TOKEN`."""
    server_patience: float = Field(default=30.0, ge=0)
    """Seconds to go on asking a server that does not answer, before the evaluation counts as not measured."""

    @property
    def where(self) -> str | None:
        """What `server` says, or else the environment."""
        return self.server or os.environ.get(SERVER)

    @property
    def effort(self) -> Effort:
        """The part that a judge needs."""
        return Effort(**self.model_dump(include=set(Effort.model_fields)))
