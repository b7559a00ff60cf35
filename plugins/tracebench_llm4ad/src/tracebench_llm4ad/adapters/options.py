"""What a task from a folder can be told through `eval_kwargs`."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Where = Literal["apart", "rehearsed", "together"]


class ForeignOptions(BaseModel):
    """Our own options by name; every other keyword goes to the foreign task's constructor."""

    model_config = ConfigDict(frozen=True, extra="allow")

    timeout_seconds: float | None = Field(default=None, gt=0, le=3600)
    """Wall time for one evaluation; None takes what the task declares, three times as much where it is evaluated apart.

    Also handed to the constructor when it is given."""
    repeats: int | None = Field(default=None, ge=1, le=100)
    """Evaluations, each with a seed of its own, whose mean is the score; None is 5 for tasks with a random environment, else 1."""
    where: Where | None = None
    """`apart`: the candidate alone in its sandbox, the evaluator in its own process. `rehearsed`: the candidate answers a copy
    of the evaluator in its sandbox, and the evaluator in its own process repeats that with the answers. `together`: the score itself is
    computed in the candidate's sandbox."""
