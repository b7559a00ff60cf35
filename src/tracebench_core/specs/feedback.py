"""What an evaluation says: per example a `Feedback`, per candidate an `Evaluation`."""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator

from tracebench_core import averages
from tracebench_core.specs.base import Spec, Split, Values

FeedbackStatus = Literal["ok", "invalid", "timeout", "error", "not_measured"]
"""`not_measured` is infrastructure and says nothing of the candidate; all others are the candidate's doing."""
NO_NUMBERS = frozenset({"NaN", "Infinity", "-Infinity"})
"""How JSON tells a metric that is no finite number."""


def _no_text(figure: Any) -> Any:
    """Refuse a text in a number's place, which pydantic would read: it comes from a candidate, not from a scale."""
    if isinstance(figure, (str, bytes, bytearray)) and figure not in NO_NUMBERS:
        raise ValueError(f"a figure must be a number, not the text {str(figure)[:40]!r}")
    return figure


Figure = Annotated[float, BeforeValidator(_no_text)]


class Feedback(Spec):
    """A guide's verdict on one output.

    `score` is finite and higher is better. It counts only while `status` is `ok`; otherwise `text` says what happened.
    """

    score: Figure
    text: str = ""
    """What to improve, for the optimizer."""
    metrics: dict[str, Figure] = {}
    """Native metrics and, for multi-objective tasks, one value per objective."""
    status: FeedbackStatus = "ok"

    @field_validator("score")
    @classmethod
    def _finite(cls, score: float) -> float:
        if not math.isfinite(score):
            raise ValueError(f"a score must be finite, not {score}")
        return score + 0.0  # no negative zero


class Candidate(Spec):
    """One full assignment of values to all parameters, with where it came from."""

    id: str
    """`c0` is the task's initial assignment; ids count up in the order of first appearance within the job."""
    values: Values
    parents: tuple[str, ...] = ()
    origin: str = ""
    """The operator that made it, in the trainer's words."""


class Raised(Spec):
    """Where an exception of a task's own code was raised."""

    type: str
    file: str
    """Name of the file, without its folder."""
    line: int


class ExampleResult(Spec):
    """One candidate on one example."""

    example: str
    split: Split
    feedback: Feedback
    seconds: float = Field(ge=0)
    reused: bool = False
    """It was measured before, by an evaluation of the same values on the same example."""
    reused_from: str = ""
    """The attempt that measured it, where that was another one: its path in the run directory."""
    key: str = ""
    """A digest of what was measured, where an attempt that comes later may reuse it."""
    raised: Raised | None = None
    """Where the task's own code raised, when an exception took the place of feedback."""

    def without_metric(self, name: str) -> ExampleResult:
        """Return the result without a metric that its reader is not to see; itself where it has none of that name."""
        if name not in self.feedback.metrics:
            return self
        metrics = {own: value for own, value in self.feedback.metrics.items() if own != name}
        return self.model_copy(update={"feedback": self.feedback.model_copy(update={"metrics": metrics})})


class Evaluation(Spec):
    """One candidate on a batch of examples, in the order of the batch."""

    candidate: Candidate
    results: tuple[ExampleResult, ...]
    score: float | None
    """The task's aggregate over the batch, by default the mean; None when an example was not measured, or failed on a task without
    `worst_score`."""

    @property
    def status(self) -> FeedbackStatus:
        """The worst status of the batch."""
        order: tuple[FeedbackStatus, ...] = ("not_measured", "error", "timeout", "invalid", "ok")
        seen = {r.feedback.status for r in self.results}
        return next((s for s in order if s in seen), "ok")

    @property
    def metrics(self) -> dict[str, float]:
        """Means of the metrics that every example of the batch reports."""
        if not self.results:
            return {}
        names = set.intersection(*(set(r.feedback.metrics) for r in self.results))
        return {n: averages.mean([r.feedback.metrics[n] for r in self.results]) for n in sorted(names)}
