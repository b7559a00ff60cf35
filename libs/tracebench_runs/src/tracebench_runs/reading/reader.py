"""Reads a run directory, finished or under way, whatever is installed: the one door for screens, analysis and people's programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from tracebench_core.errors import RunDirError
from tracebench_core.ids import did_you_mean
from tracebench_core.specs import Candidate, JobSpec
from tracebench_core.specs.events import CandidateSeen, Event
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.events.spent import LedgerReader, spent_of
from tracebench_runs.journal.trust import Trust, damaged, read_trust
from tracebench_runs.journal.witness import demand_sound
from tracebench_runs.meta.manifest import read_head
from tracebench_runs.meta.planned import read_jobs
from tracebench_runs.reading.briefs import Brief, StoredResults
from tracebench_runs.reading.frames import Library, make_frame
from tracebench_runs.reading.tabular import SPECS, Source, TableName
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.layout import RunLayout


class Run:
    """A run directory, read on demand and kept: open it again to see what happened since."""

    def __init__(self, layout: RunLayout, manifest: dict[str, Any]) -> None:
        self.layout = layout
        self.manifest = manifest
        """The manifest without its jobs."""

    @property
    def run_id(self) -> str:
        """The id that the run was given; its folder may have been moved or renamed since."""
        return str(self.manifest.get("run_id") or self.layout.run_id)

    @cached_property
    def planned(self) -> Sequence[JobSpec]:
        """Every planned job, in plan order."""
        return read_jobs(self.layout)

    @cached_property
    def results(self) -> StoredResults:
        """The result of every planned job by its id, in plan order, each read when it is asked for; `not_run` where none can be read."""
        return StoredResults(self.layout, self.planned, trust=self.trust)

    @cached_property
    def briefs(self) -> Mapping[str, Brief]:
        """What tables and statistics need of every result, by its job's id, in plan order: all are read, and none is held.

        Raises:
            RunDirError: when a result is not what the journal vouches for.
        """
        return self.results.briefs()

    def job(self, job_id: str) -> JobSpec:
        """Return one job.

        Raises:
            RunDirError: when the run has no such job.
        """
        try:
            return self.results.job(job_id)
        except KeyError as err:
            raise RunDirError(
                f"run `{self.run_id}` has no job `{job_id}`.{did_you_mean(job_id, self.results)}"
            ) from err

    def events(self, job_id: str) -> tuple[Event, ...]:
        """Return the events of one job, in order; none when it was not run."""
        layout = self.layout.job(self.job(job_id).job_id)
        self.demand_events(job_id)
        return read_events(layout).events

    def demand_events(self, job_id: str) -> None:
        """Refuse a finished job's events that are not what the journal sealed.

        Raises:
            RunDirError: when they are not, and nobody accepted the loss.
        """
        end = self.trust.end(job_id)
        events = self.layout.job(job_id).events
        path = events.relative_to(self.layout.path).as_posix()
        if end is not None and not self.trust.is_whole(self.layout, path, end.events):
            raise damaged(self.layout, events)

    def candidates_of(self, job_id: str) -> Iterator[Candidate]:
        """Yield the candidates of one job with their values in full, in the order in which they appeared."""
        blobs = BlobStore(self.layout.job(job_id).blobs)
        for event in self.events(job_id):
            if isinstance(event, CandidateSeen):
                values = blobs.expand(event.values)
                yield Candidate(id=event.id, values=values, parents=event.parents, origin=event.origin)

    def jobs(self, library: Library | None = None) -> Any:
        """Return a frame with one row per planned job: what it is, how it ended, its scores, its usage.

        This and the frames below are of pandas where that is installed, else of polars, else a dict of lists; `library` names one.
        Lists and objects are JSON text.
        """
        return self.frame("jobs", library)

    def steps(self, library: Library | None = None) -> Any:
        """Return a frame with one row per optimisation step of every job."""
        return self.frame("steps", library)

    def evaluations(self, library: Library | None = None) -> Any:
        """Return a frame with one row per measurement of a candidate on an example."""
        return self.frame("evaluations", library)

    def candidates(self, library: Library | None = None) -> Any:
        """Return a frame with one row per candidate, with its values in full and its score."""
        return self.frame("candidates", library)

    def calls(self, library: Library | None = None) -> Any:
        """Return a frame with one row per model call, those of attempts that were lost included: their `counts` is false."""
        return self.frame("calls", library)

    def frame(self, name: TableName, library: Library | None = None) -> Any:
        """Return a table of the run by its name: see the methods of the same names.

        Raises:
            MissingRequirementError: when the library that is asked for is not installed.
        """
        return make_frame(SPECS[name].columns, self.tables.rows(name), library=library)

    @property
    def tables(self) -> Source:
        """The run's tables, row by row."""
        return Source(self.layout, self.run_id, self.planned, self.results, self.demand_events, self.ledger)

    @cached_property
    def ledger(self) -> LedgerReader:
        """What the calls of all attempts cost, those of lost attempts included."""
        ledger = LedgerReader(self.layout.ledger)
        ledger.read()
        return ledger

    def spent(self, job_id: str | None = None) -> dict[str, Any] | None:
        """Return what all attempts at a job, or at all jobs, spent: `total`, and `by` role and model; None where no ledger tells."""
        return spent_of(self.ledger, job_ids=None if job_id is None else {job_id})

    def left_out(self, job_id: str | None = None) -> dict[str, int]:
        """Return the fields that callers or the config asked for and that did not reach the model, each with the number of such calls."""
        return self.ledger.left_out(None if job_id is None else {job_id})

    @cached_property
    def trust(self) -> Trust:
        """What the journals of the run vouch for."""
        return read_trust(self.layout)


def load_run(path: str | Path) -> Run:
    """Open a run directory. Needs no plugin.

    Raises:
        RunDirError: when the folder is missing, is no run, is of a newer format than this reader knows, says of itself what its journal
            does not vouch for, or has a journal that is damaged, cut or gone.
    """
    layout = RunLayout(Path(path))
    if not layout.path.is_dir():
        raise RunDirError(f"run directory `{path}` does not exist", hint="trace-bench runs")
    run = Run(layout, read_head(layout))
    run.trust.demand_meta(layout, layout.manifest)
    demand_sound(layout, trust=run.trust)
    return run
