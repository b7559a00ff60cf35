"""One finished job as if its caps or its prices had been different: re-reduced from its events, nothing guessed.

The events are followed in order up to the first that the caps would have refused: an evaluation when as many were made, a call when a
cap on calls, tokens or USD was reached, anything once the time was over. What the engine measured after training is known for the
candidates that it scored, and for no other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tracebench_core.specs import Axis, Budget, BudgetState, JobResult, JobStatus, Split
from tracebench_core.specs.events import (
    BestChanged,
    ErrorRaised,
    EvaluationDone,
    Event,
    LLMCall,
    Scored,
    StepFinished,
)
from tracebench_core.store.metering import Meter

Reprice = Callable[[LLMCall], float | None]
"""What a call costs under the other prices; None when that is not known."""


@dataclass(frozen=True, slots=True)
class Recap:
    """A job as it would have been."""

    status: JobStatus
    stop_reason: str
    cut_by: Axis | None
    """The cap that ends it earlier than it ended; None when nothing does."""
    best_candidate: str | None
    best_so_far: float | None
    """The archive's mean of that candidate, over what the trainer had measured of it by then."""
    score_val: float | None
    """The engine's own measurement; None when it never scored this candidate: unknown."""
    score_test: float | None
    used: BudgetState
    beyond: Axis | None = None
    """The job itself was ended by this axis below the asked cap: what it had done with more is not known."""


def recap_job(events: Sequence[Event], result: JobResult, *, caps: Budget, reprice: Reprice | None = None) -> Recap:
    """Re-reduce one job under `caps`, the job's own caps still holding."""
    meter = Meter()
    cut: Axis | None = None
    best: BestChanged | None = None
    fatal = False
    seconds = 0.0
    opening = _opening_seconds(events)
    for event in events:
        now = max(0.0, event.mono - opening)
        cut = _refused(event, meter.used(seconds=now), caps)
        if cut is not None:
            seconds = min(now, caps.seconds) if caps.seconds is not None else now
            break
        match event:
            case EvaluationDone(by="trainer"):
                meter.add_evaluation(event)
                seconds = now
            case LLMCall():
                meter.add_call(event if reprice is None else event.model_copy(update={"usd": reprice(event)}))
            case BestChanged():
                best = event
            case ErrorRaised():
                fatal = fatal or event.fatal
    scored = _scored(events)
    candidate = best.candidate if best is not None else None
    if cut is None:
        seconds = result.used.seconds
    ends_well = cut is not None and not fatal
    return Recap(
        status="ok" if ends_well else result.status,
        stop_reason=f"budget:{cut}" if ends_well else result.stop_reason,
        cut_by=cut,
        best_candidate=candidate,
        best_so_far=best.score if best is not None else None,
        score_val=_measured(scored, candidate, ("validation", "train")),
        score_test=_measured(scored, candidate, ("test",)),
        used=meter.used(seconds=seconds),
        beyond=None if cut is not None else _ended_below(result, caps),
    )


def _refused(event: Event, used: BudgetState, caps: Budget) -> Axis | None:
    """Return the axis whose cap refuses what this event is, given what was used before it."""
    is_evaluation = isinstance(event, EvaluationDone)
    match event:
        case EvaluationDone(by="trainer") | LLMCall(phase="training", status="ok", cached=False):
            pass
        case _:
            return None
    if caps.seconds is not None and used.seconds - event.seconds >= caps.seconds:
        return "seconds"
    axes: tuple[Axis, ...] = ("evaluations",) if is_evaluation else ("llm_calls", "tokens", "usd")
    for axis in axes:
        cap, amount = getattr(caps, axis), getattr(used, axis)
        if cap is not None and amount is not None and amount >= cap:
            return axis
    return None


def _opening_seconds(events: Iterable[Event]) -> float:
    """Return how long the job's clock ran before training began, which no budget is charged for."""
    for event in events:
        if isinstance(event, BestChanged | StepFinished):
            return max(0.0, event.mono - event.used.seconds)
    return 0.0


def _scored(events: Iterable[Event]) -> dict[tuple[str, Split], Scored]:
    return {(event.candidate, event.split): event for event in events if isinstance(event, Scored)}


def _measured(scored: dict[tuple[str, Split], Scored], candidate: str | None, splits: Sequence[Split]) -> float | None:
    found = [scored[candidate, split] for split in splits if candidate is not None and (candidate, split) in scored]
    return found[0].score if found else None


def _ended_below(result: JobResult, caps: Budget) -> Axis | None:
    """Return the axis on which the job's own budget ended it before the cap that is asked for."""
    _, _, ended = result.stop_reason.rpartition("budget:")
    for axis, cap in caps.caps().items():
        own = getattr(result.budget, axis)
        if axis == ended and (own is None or own < cap):
            return axis
    return None
