"""The end of a job that a person cancelled: what it had found is kept and nothing more is measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from tracebench_core.specs import JobOrder, JobResult, JobSpec
from tracebench_core.specs.events import EvaluationDone, Event, JobFinished, LLMCall
from tracebench_engine.job.finish import conclude
from tracebench_engine.measure.recorder import Recorder
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.events.metering import Meter
from tracebench_runs.events.writer import EventWriter
from tracebench_runs.storage import files
from tracebench_runs.storage.clock import utc_now
from tracebench_runs.storage.layout import JobLayout


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The end of a job that was cancelled before it began, or whose process or template ended otherwise after that; see `JobEnd`."""

    order: JobOrder
    exit: Literal["cancelled"] = "cancelled"
    detail: str = ""


CallsAfter = Callable[[int], Sequence[LLMCall]]
"""The job's model calls with numbers above a given one, as the gateway metered them."""


def conclude_cancelled(layout: JobLayout, job: JobSpec, *, reason: str, calls_after: CallsAfter) -> JobResult:
    """End the log of a cancelled job, with the calls that its process could not write any more, and reduce it."""
    files.make_dir(layout.path)
    events: list[Event] = list(read_events(layout).events)
    if not any(isinstance(event, JobFinished) for event in events):
        writer = EventWriter(layout)
        last = max((event.call for event in events if isinstance(event, LLMCall)), default=0)
        events += [writer.write(call) for call in calls_after(last)]
        seconds = _seconds_since_start(events)
        Recorder(writer.write).finished(
            "cancelled", f"cancelled: {reason}", used=_metered(events).used(seconds=seconds), seconds=seconds
        )
        writer.close(durable=False)
    return conclude(layout, job)


def _seconds_since_start(events: Sequence[Event]) -> float:
    """Return how long the job has run, by the time of day: its own clock went with its process."""
    if not events:
        return 0.0
    passed = (utc_now() - datetime.fromisoformat(events[0].t)).total_seconds()
    return round(max(events[-1].mono, passed), 6)


def _metered(events: Sequence[Event]) -> Meter:
    meter = Meter()
    for event in events:
        match event:
            case EvaluationDone():
                meter.add_evaluation(event)
            case LLMCall():
                meter.add_call(event)
    return meter
