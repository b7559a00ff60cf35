"""One finished job as if its caps or its prices had been different: re-reduced from its events, nothing guessed.

The events are followed in order, which is that of the ledger, up to the first that the caps would have refused: an evaluation when as
many were made, a call when a cap on calls, tokens or USD was reached, anything once the time was over. The finalists are then chosen
as the engine chooses them, and the winner is known where all of them are among those that it measured after training.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from tracebench_core.specs import OF_CALLS, Axis, Budget, BudgetState, JobResult, JobStatus, Split
from tracebench_core.specs.events import (
    BestChanged,
    ErrorRaised,
    EvaluationDone,
    Event,
    JobStarted,
    LLMCall,
    Scored,
    StepFinished,
)
from tracebench_runs.events.history import Standings
from tracebench_runs.events.metering import Meter
from tracebench_runs.events.ranking import FINALISTS, FindAggregate, mean_alone
from tracebench_runs.reading.briefs import Brief

ON_VALIDATION: tuple[Split, ...] = ("validation", "train")
"""Train, where a task has no validation."""
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
    """The winner; while that is not known, whoever led when training ended. None when nobody was compared."""
    best_so_far: float | None
    """The score on the comparison set of the candidate that led."""
    score_val: float | None
    """The engine's own measurement of the winner; None when the winner is not known."""
    score_test: float | None
    used: BudgetState
    finalists: tuple[str, ...] = ()
    """Whom the engine would measure on all of validation, in their order."""
    beyond: Axis | None = None
    """The job itself was ended by this axis below the asked cap: what it had done with more is not known."""
    truncated: bool = False
    """The trainer reads its budget, and might have done otherwise from the start."""


def recap_job(
    events: Sequence[Event],
    result: JobResult | Brief,
    *,
    caps: Budget,
    reprice: Reprice | None = None,
    find: FindAggregate = mean_alone,
) -> Recap:
    """Re-reduce one job under `caps`, the job's own caps still holding.

    `find` tells how the task makes one score of many; where it cannot, nobody is ranked: the winner is not known.
    """
    meter, standings = Meter(), Standings(find)
    cut: Axis | None = None
    fatal = reads_budget = False
    seconds = 0.0
    opening = _opening_seconds(events)
    for event in events:
        now = max(0.0, event.mono - opening)
        cut = _refused(event, meter.used(seconds=now), caps)
        if cut is not None:
            seconds = min(now, caps.seconds) if caps.seconds is not None else now
            break
        standings.add(event)
        match event:
            case JobStarted():
                reads_budget = event.reads_budget
            case EvaluationDone(by="trainer"):
                meter.add_evaluation(event)
                seconds = now
            case LLMCall():
                meter.add_call(event if reprice is None else event.model_copy(update={"usd": reprice(event)}))
            case ErrorRaised():
                fatal = fatal or event.fatal
    if cut is None:
        seconds = result.used.seconds
    finalists = standings.finalists(FINALISTS) if standings.is_known else []
    scored = _scored(events)
    winner = _winner(finalists, scored) if cut is not None else _chosen(events)
    leader = standings.best if standings.best_score is not None else None
    ends_well = cut is not None and not fatal
    return Recap(
        status="ok" if ends_well else result.status,
        stop_reason=f"budget:{cut}" if ends_well else result.stop_reason,
        cut_by=cut,
        best_candidate=winner or leader,
        best_so_far=standings.best_score,
        score_val=_measured(scored, winner, ON_VALIDATION),
        score_test=_measured(scored, winner, ("test",)),
        used=meter.used(seconds=seconds),
        finalists=tuple(finalists),
        beyond=None if cut is not None else _ended_below(result, caps),
        truncated=reads_budget and cut is not None,
    )


def _winner(finalists: Sequence[str], scored: Mapping[tuple[str, Split], Scored]) -> str | None:
    """Return which of the finalists wins, or None where one was never measured on validation."""
    scores = [_measured(scored, finalist, ON_VALIDATION) for finalist in finalists]
    known = [score for score in scores if score is not None]
    return finalists[scores.index(max(known))] if known and len(known) == len(finalists) else None


def _chosen(events: Iterable[Event]) -> str | None:
    """Return the winner that the engine chose."""
    return next((e.candidate for e in events if isinstance(e, Scored) and e.what == "best" and e.split != "test"), None)


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
    axes: tuple[Axis, ...] = ("evaluations",) if is_evaluation else tuple(OF_CALLS)
    for axis in axes:
        cap, amount = getattr(caps, axis), getattr(used, axis)
        if cap is not None and amount is not None and amount >= cap:
            return axis
    return None


def _opening_seconds(events: Iterable[Event]) -> float:
    """Return how long the job's clock ran before training began, which no budget is charged for."""
    for event in events:
        if isinstance(event, BestChanged | StepFinished) and event.used.seconds > 0:
            return max(0.0, event.mono - event.used.seconds)
    return 0.0


def _scored(events: Iterable[Event]) -> dict[tuple[str, Split], Scored]:
    return {(event.candidate, event.split): event for event in events if isinstance(event, Scored)}


def _measured(
    scored: Mapping[tuple[str, Split], Scored], candidate: str | None, splits: Sequence[Split]
) -> float | None:
    found = [scored[candidate, split] for split in splits if candidate is not None and (candidate, split) in scored]
    return found[0].score if found else None


def _ended_below(result: JobResult | Brief, caps: Budget) -> Axis | None:
    """Return the axis on which the job's own budget ended it before the cap that is asked for."""
    _, _, ended = result.stop_reason.rpartition("budget:")
    for axis, cap in caps.caps().items():
        own = getattr(result.budget, axis)
        if axis == ended and (own is None or own < cap):
            return axis
    return None
