"""Feedback of a batch in one text, as Trace batches it: one `ID [i]` a line, in the order of the batch."""

from __future__ import annotations

from collections.abc import Sequence

from tracebench_core.proposing.rendering import score_text
from tracebench_core.specs import Evaluation, ExampleResult


def batched(evaluation: Evaluation | None, notes: Sequence[str] = ()) -> str:
    """Return the feedback of a batch, and after it what the model has to be told of its earlier suggestions."""
    lines = ["No feedback yet."] if evaluation is None else [_line(i, r) for i, r in enumerate(evaluation.results)]
    return "\n".join([*lines, *(f"Note: {note}" for note in notes)])


def _line(index: int, result: ExampleResult) -> str:
    feedback = result.feedback
    verdict = f"Score: {score_text(feedback.score)}." if feedback.status == "ok" else f"No score ({feedback.status})."
    return f"ID [{index}]: {verdict} {feedback.text}".rstrip()
