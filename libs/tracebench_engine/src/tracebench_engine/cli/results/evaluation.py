"""`show JOB --evaluation N`: one evaluation with what its suite kept of it, read from the job's directory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.errors import UsageError
from tracebench_engine.api.console import output

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tracebench_core.specs.events import EvaluationDone, Event, SuiteRecord
    from tracebench_engine.api.records import JobLayout

TRANSCRIPT = "transcript"
"""Key of a suite's record that names a text file, relative to the job's `artifacts`."""


def show_evaluation(layout: JobLayout, number: int, *, as_json: bool) -> None:
    """Print the evaluation that was recorded as the `number`-th of a job, the first is 1, and its transcript where it has one.

    Raises:
        UsageError: when the job has no such evaluation.
    """
    from tracebench_core.specs.events import EvaluationDone
    from tracebench_engine.api.records import read_events

    events = read_events(layout).events
    done = [event for event in events if isinstance(event, EvaluationDone)]
    if not 1 <= number <= len(done):
        raise UsageError(
            f"`{layout.path.name}` has {len(done)} evaluations, and none with the number {number}.",
            hint=output.command("show", layout.path, "--evaluation", 1) if done else "",
        )
    found = done[number - 1]
    records = _records(events, found)
    if as_json:
        output.document(
            "evaluation",
            number=number,
            evaluation=found.model_dump(mode="json"),
            records=[record.model_dump(mode="json") for record in records],
        )
        return
    output.line(f"evaluation {number} of {len(done)}: candidate {found.candidate} on {output.safe(found.example)}")
    output.line(
        f"{found.split}, by the {found.by}, {found.seconds:.2f} s: {found.status}, score {output.number(found.score)}"
    )
    texts = [_transcript(layout, record) for record in records]
    if not any(texts):
        output.line(f"\n{output.safe(found.feedback)}")
    for text in filter(None, texts):
        output.line(f"\n{output.safe(text)}")


def _records(events: Sequence[Event], found: EvaluationDone) -> list[SuiteRecord]:
    """Return the last record of each name that a suite wrote of this candidate and example before the evaluation was done."""
    from tracebench_core.specs.events import SuiteRecord

    pair = (found.candidate, found.example)
    records = [
        e for e in events if isinstance(e, SuiteRecord) and (e.candidate, e.example) == pair and e.seq < found.seq
    ]
    return list({record.name: record for record in records}.values())


def _transcript(layout: JobLayout, record: SuiteRecord) -> str:
    """Return the text that a record names; nothing when it names none inside the job's artifacts."""
    named = record.data.get(TRANSCRIPT)
    if not isinstance(named, str):
        return ""
    path = (layout.artifacts / named).resolve()
    if not path.is_relative_to(layout.artifacts.resolve()) or not path.is_file():
        return ""
    return path.read_text(encoding="utf-8", errors="replace")
