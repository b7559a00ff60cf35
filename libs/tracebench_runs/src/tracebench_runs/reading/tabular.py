"""A run as five tables, row by row: `jobs`, `steps`, `evaluations`, `candidates`, `calls`. Frames and exports are made of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, get_args

from pydantic import ValidationError

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobResult, JobSpec, ModelIdentity, Usage
from tracebench_core.specs.events import CandidateSeen, EvaluationDone, Event, LLMCall, StepFinished
from tracebench_runs.events.eventlog import iter_events
from tracebench_runs.events.metering import total
from tracebench_runs.events.spent import LedgerReader
from tracebench_runs.events.states import candidate_scores
from tracebench_runs.reading.fields import Cells, Column, columns_of, json_text
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.files import read_lines
from tracebench_runs.storage.layout import JobLayout, RunLayout

TableName = Literal["jobs", "steps", "evaluations", "candidates", "calls"]
TABLES: tuple[TableName, ...] = get_args(TableName)
Row = tuple[Any, ...]
_KIND = re.compile(rb'"kind"\s*:\s*"(\w+)"')
_COMMON = ("v", "kind")


class JobRecord(NamedTuple):
    """What a row of `jobs` is read from."""

    run_id: str
    spec: JobSpec
    result: JobResult
    usage: Usage
    """Of all roles together."""
    model: ModelIdentity | None
    """Of the role `optimizer`, else of the first role that has one."""
    steps: int
    spent: Usage | None
    """By all attempts; None where no ledger tells."""


class EventRecord(NamedTuple):
    """What a row of the other tables is read from."""

    run_id: str
    job_id: str
    attempt: int
    """From 1."""
    counts: bool
    """Whether the job's result is from this attempt."""
    event: Any
    score: float | None = None
    """Of a candidate."""
    values: str | None = None
    """Of a candidate, in full, as JSON."""


class Table:
    """The columns of a table, and which event its rows are read from."""

    def __init__(self, *columns: Column, event: type[Event] | None = None) -> None:
        self.columns = columns
        self.event = event
        self.cells = Cells(columns)


_ID = (Column("run_id", "text", "run_id"), Column("job_id", "text", "job_id"))
_ATTEMPT = (Column("attempt", "integer", "attempt"), Column("counts", "boolean", "counts"))
SPECS: Mapping[TableName, Table] = MappingProxyType(
    {
        "jobs": Table(
            Column("run_id", "text", "run_id"),
            *columns_of(JobResult, at="result", without={"steps"}),
            Column("steps", "integer", "steps"),
            *columns_of(Usage, at="usage"),
            *columns_of(
                Usage, at="spent", renamed={name: f"spent_{name}" for name in Usage.model_fields}, is_optional=True
            ),
            *columns_of(JobSpec, at="spec", without={*JobResult.model_fields, "logger", "logger_kwargs"}),
            *columns_of(
                ModelIdentity,
                at="model",
                renamed={name: f"llm_{name}" for name in ModelIdentity.model_fields},
                is_optional=True,
            ),
        ),
        "steps": Table(*_ID, *columns_of(StepFinished, at="event", without=_COMMON), event=StepFinished),
        "evaluations": Table(*_ID, *columns_of(EvaluationDone, at="event", without=_COMMON), event=EvaluationDone),
        "candidates": Table(
            *_ID,
            *columns_of(CandidateSeen, at="event", without={*_COMMON, "values"}, renamed={"id": "candidate"}),
            Column("score", "number", "score"),
            Column("values", "json", "values"),
            event=CandidateSeen,
        ),
        "calls": Table(*_ID, *_ATTEMPT, *columns_of(LLMCall, at="event", without=_COMMON), event=LLMCall),
    }
)


@dataclass(frozen=True, slots=True)
class Source:
    """A run as its tables are read from it."""

    layout: RunLayout
    run_id: str
    jobs: Sequence[JobSpec]
    results: Mapping[str, JobResult]
    demand_events: Callable[[str], None]
    """Raises where the events of a job are not what they were."""
    ledger: LedgerReader

    def rows(self, name: TableName) -> Iterator[Row]:
        """Yield the rows of one table, jobs in plan order."""
        for _, cells in self.all_rows({name}):
            yield cells

    def all_rows(self, names: Collection[TableName] = TABLES) -> Iterator[tuple[TableName, Row]]:
        """Yield the rows of several tables, reading each file once; each row comes with its table's name."""
        kinds: dict[TableName, bytes] = {
            name: _kind(spec.event) for name, spec in SPECS.items() if name in names and spec.event
        }
        for job in self.jobs:
            if "jobs" in names:
                yield "jobs", SPECS["jobs"].cells(self._job_record(job))
            if kinds:
                self.demand_events(job.job_id)
            for attempt in _attempts(self.layout.job(job.job_id)) if kinds else ():
                wanted = {n: k for n, k in kinds.items() if attempt.counts or n == "calls"}
                if wanted:
                    yield from self._event_rows(job.job_id, attempt, wanted)

    def _job_record(self, job: JobSpec) -> JobRecord:
        result = self.results[job.job_id]
        model = job.models.get("optimizer") or next(iter(job.models.values()), None)
        spent = self.ledger.of(job.job_id)
        return JobRecord(self.run_id, job, result, total(result.usage), model, len(result.steps), spent)

    def _event_rows(
        self, job_id: str, attempt: _Attempt, kinds: Mapping[TableName, bytes]
    ) -> Iterator[tuple[TableName, Row]]:
        tables = {kind: name for name, kind in kinds.items()}
        events = {name: list[Any]() for name in kinds}
        lines = read_lines(attempt.layout.events).lines
        for line in lines:
            found = _KIND.search(line)
            if found is not None and (name := tables.get(found[1])) is not None:
                event = _event(name, line)
                if event is not None:
                    events[name].append(event)
        head = (self.run_id, job_id, attempt.number, attempt.counts)
        for name, seen in events.items():
            records = (
                _candidate_records(head, seen, attempt.layout, lines)
                if name == "candidates"
                else (EventRecord(*head, event) for event in seen)
            )
            cells = SPECS[name].cells
            yield from ((name, cells(record)) for record in records)


class _Attempt(NamedTuple):
    layout: JobLayout
    number: int
    counts: bool


def _attempts(job: JobLayout) -> Iterator[_Attempt]:
    earlier = job.earlier_attempts()
    yield from (_Attempt(layout, number, counts=False) for number, layout in enumerate(earlier, start=1))
    if job.path.is_dir():
        yield _Attempt(job, len(earlier) + 1, counts=True)


def _kind(event: type[Event]) -> bytes:
    return str(event.model_fields["kind"].default).encode()


def _event(name: TableName, line: bytes) -> Event | None:
    model = SPECS[name].event
    try:
        return model.model_validate_json(line) if model is not None else None
    except ValidationError:
        return None


def _candidate_records(
    head: tuple[str, str, int, bool], seen: Iterable[CandidateSeen], layout: JobLayout, lines: list[bytes]
) -> Iterator[EventRecord]:
    blobs = BlobStore(layout.blobs)
    scores = candidate_scores(iter_events(lines))
    for event in seen:
        try:
            values = json_text(blobs.expand(event.values))
        except RunDirError:  # a blob is lost: what is left of the candidate is told
            values = json_text(event.values)
        yield EventRecord(*head, event, scores.get(event.id), values)
