"""Events of a job as trackers want them: configuration, numbers on an axis, files, an end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.specs import BudgetState
from tracebench_core.specs.events import BestChanged, Event, JobFinished, JobStarted, MetricLogged, Scored, StepFinished

AXES = ("evaluations", "llm_calls", "tokens")
"""Axes of the budget that are counted in whole numbers, as the x axis of a tracker is."""


@dataclass(frozen=True, slots=True)
class Configured:
    """What the job is: a name for people, and flat text values."""

    name: str
    values: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Numbers:
    """Metrics that stand at a position, or alone (`at` None); what was not measured is not among them."""

    values: Mapping[str, float]
    at: int | None
    axis: str = "step"


@dataclass(frozen=True, slots=True)
class Ended:
    """The job's end."""

    status: str
    stop_reason: str


@dataclass(frozen=True, slots=True)
class Kept:
    """A file that is kept with the job, by its name there: its text, or where it lies."""

    name: str
    text: str = ""
    path: Path | None = None


Reading = Configured | Numbers | Kept | Ended


def readings(event: Event) -> Iterator[Reading]:
    """Yield what a tracker is told of an event; nothing of most."""
    match event:
        case JobStarted():
            yield Configured(
                f"{event.label or event.trainer} on {event.task}, seed {event.seed}", dict(_flat(_facts(event)))
            )
        case StepFinished():
            used = {f"used/{name}": value for name, value in event.used.model_dump().items()}
            scores = {"step/score": event.score, "step/best": event.best, "step/seconds": event.seconds}
            yield Numbers(_known({**scores, **used}), at=event.index)
        case BestChanged():
            yield from _on_axes("best", event.score, event.used)
        case MetricLogged():
            yield Numbers(_known({f"metric/{event.name}": event.value}), at=event.step or 0)
        case Scored():
            yield Numbers(_known({f"score/{event.split}/{event.what}": event.score}), at=None)
        case JobFinished():
            total = {f"total/{name}": value for name, value in event.used.model_dump().items()}
            yield Numbers(_known({**total, "total/seconds": event.seconds}), at=None)
            yield Ended(event.status, event.stop_reason)


def _facts(event: JobStarted) -> dict[str, Any]:
    facts = event.model_dump(mode="json", include={"job_id", "task", "trainer", "label", "seed", "mode", "versions"})
    asked = {role: {"model": it.model, "provider": it.provider} for role, it in event.models.items()}
    return {**facts, "llm": asked, "settings": event.params, "budget": event.budget.model_dump(exclude_none=True)}


def _on_axes(name: str, value: float, used: BudgetState) -> Iterator[Numbers]:
    for axis in AXES:
        yield Numbers({f"{name}/by_{axis}": value}, at=int(getattr(used, axis)), axis=axis)


def _known(values: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items() if isinstance(value, int | float)}


def _flat(value: Any, name: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _flat(item, f"{name}.{key}" if name else str(key))
    else:
        yield name, str(value)
