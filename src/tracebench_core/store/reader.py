"""Reads a run directory, finished or under way, whatever is installed: the one door for screens, analysis and people's programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tracebench_core.errors import RunDirError
from tracebench_core.ids import did_you_mean
from tracebench_core.specs import Candidate, JobResult, JobSpec
from tracebench_core.specs.events import AnyEvent, CandidateSeen, Event
from tracebench_core.store.blobs import BlobStore
from tracebench_core.store.files import read_lines
from tracebench_core.store.layout import JobLayout, RunLayout
from tracebench_core.store.manifest import iter_jobs, read_head
from tracebench_core.store.reduce import not_run
from tracebench_core.store.results import read_result

_EVENT: TypeAdapter[Event] = TypeAdapter(AnyEvent)


@dataclass(frozen=True, slots=True)
class EventLog:
    """The events of a job that could be read, in order, and how many lines could not."""

    events: tuple[Event, ...]
    unreadable: int


def read_events(layout: JobLayout) -> EventLog:
    """Read a job's events. A torn or foreign line is skipped and counted; a job that never started has none."""
    events: list[Event] = []
    unreadable = 0
    for line in read_lines(layout.events).lines:
        try:
            events.append(_EVENT.validate_json(line))
        except ValidationError:
            unreadable += 1
    return EventLog(tuple(events), unreadable)


class Run:
    """A run directory, read on demand and kept: open it again to see what happened since."""

    def __init__(self, layout: RunLayout, manifest: dict[str, Any]) -> None:
        self.layout = layout
        self.manifest = manifest
        """The manifest without its jobs."""

    @property
    def run_id(self) -> str:
        return self.layout.run_id

    @cached_property
    def jobs(self) -> tuple[JobSpec, ...]:
        """Every planned job, in plan order."""
        return tuple(iter_jobs(self.layout))

    @cached_property
    def results(self) -> dict[str, JobResult]:
        """The result of every planned job by its id, in plan order; `not_run` where there is none that can be read."""
        return {job.job_id: self._result(job) for job in self.jobs}

    def job(self, job_id: str) -> JobSpec:
        """Return one job.

        Raises:
            RunDirError: when the run has no such job.
        """
        try:
            return self._by_id[job_id]
        except KeyError as err:
            raise RunDirError(f"run `{self.run_id}` has no job `{job_id}`.{did_you_mean(job_id, self._by_id)}") from err

    def events(self, job_id: str) -> tuple[Event, ...]:
        """Return the events of one job, in order; none when it was not run."""
        return read_events(self.layout.job(self.job(job_id).job_id)).events

    def candidates(self, job_id: str) -> Iterator[Candidate]:
        """Yield the candidates of one job with their values in full, in the order in which they appeared."""
        blobs = BlobStore(self.layout.job(job_id).blobs)
        for event in self.events(job_id):
            if isinstance(event, CandidateSeen):
                values = blobs.expand(event.values)
                yield Candidate(id=event.id, values=values, parents=event.parents, origin=event.origin)

    @cached_property
    def _by_id(self) -> dict[str, JobSpec]:
        return {job.job_id: job for job in self.jobs}

    def _result(self, job: JobSpec) -> JobResult:
        try:
            return read_result(self.layout.job(job.job_id)).result
        except RunDirError:
            return not_run(job)


def load_run(path: str | Path) -> Run:
    """Open a run directory. Needs no plugin.

    Raises:
        RunDirError: when the folder is missing, is no run, or is of a newer format than this reader knows.
    """
    layout = RunLayout(Path(path))
    if not layout.path.is_dir():
        raise RunDirError(f"run directory `{path}` does not exist", hint="ls runs")
    return Run(layout, read_head(layout))
