"""Cost models: from proposals and evaluations per step to the estimate that planning shows."""

from __future__ import annotations

from tracebench_core.specs import CostEstimate, Range, TaskShape
from tracebench_opto.parts.search import UNCAPPED_STEPS, SearchSettings, compared_examples


def judged_examples(settings: SearchSettings, shape: TaskShape) -> int:
    """Return on how many examples a candidate is compared."""
    available = shape.validation or shape.train
    return min(compared_examples(settings, available, shape.budget), available)


def feedback_examples(settings: SearchSettings, shape: TaskShape) -> int:
    """Return how many evaluations one batch of feedback costs; none where train is what candidates are compared on."""
    return min(settings.train_batch_size, shape.train) if shape.validation else 0


def estimate_steps(
    steps: int | None,
    *,
    proposals: float,
    evaluations: float,
    idle_evaluations: float = 0.0,
    start: float = 0.0,
    extra: float = 0.0,
    saved: float = 0.0,
) -> CostEstimate:
    """Return the estimate for `steps` equal steps; None, when the budget decides, is the 10 steps of a job without one, and more to a cap.

    Args:
        steps: number of steps.
        proposals: requested per step, one model call each.
        evaluations: per step when every proposal is new and valid.
        idle_evaluations: per step when no proposal is.
        start: evaluations before the first step.
        extra: evaluations that proposals cause outside of the steps.
        saved: of `evaluations`, what a step most likely does without.
    """
    count = UNCAPPED_STEPS if steps is None else steps
    high = start + count * evaluations + extra
    calls = float(count * proposals)
    return CostEstimate(
        evaluations=Range(low=start + count * idle_evaluations, likely=high - count * saved, high=high),
        llm_calls=Range(low=0.0, likely=calls, high=2 * calls),
        steps=None if steps is None else float(steps),
        proposals=Range(low=0.0, likely=calls, high=calls),
        start=start,
        to_cap=steps is None,
    )


def estimate_selected(
    settings: SearchSettings, shape: TaskShape, *, proposals: int, idle_feedback: bool = False
) -> CostEstimate:
    """Return the estimate of a search that measures a batch of its parent in each step, and every child where candidates are compared.

    Args:
        settings: of the search.
        shape: of the task.
        proposals: children of a step.
        idle_feedback: whether a step without a child has measured the batch for sure; another parent's may be known.
    """
    judged, feedback = judged_examples(settings, shape), feedback_examples(settings, shape)
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=proposals,
        evaluations=feedback + proposals * judged,
        idle_evaluations=feedback if idle_feedback else 0,
        start=judged,
    )
