"""What a resumed run may skip: finished jobs are verified against their results, and lost end records are adopted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tracebench_core.errors import UNWRITABLE, RunDirError
from tracebench_core.ids import content_hash
from tracebench_core.specs import JobStatus
from tracebench_core.specs.events import CandidateSeen, Event, JobFinished
from tracebench_runs.check.mirror import declare_meta
from tracebench_runs.check.quarantine import quarantine
from tracebench_runs.events.eventlog import read_events
from tracebench_runs.events.reduce import reduce_job
from tracebench_runs.events.states import stale_states
from tracebench_runs.journal.commit import commit
from tracebench_runs.journal.journal import EndRecord, Journal, TrainedRecord
from tracebench_runs.journal.trust import Trust, read_trust
from tracebench_runs.journal.witness import demand_journal, has_lived, speaks_against
from tracebench_runs.results.results import read_result, sealed_bytes, write_result
from tracebench_runs.storage import files
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_runs.storage.regular import FLAGS, read_whole

_LARGE = 1 << 16
"""Bytes of a result that is read by itself."""


@dataclass(frozen=True, slots=True)
class Settlement:
    """How the jobs of a run stand: `finished` may be skipped; all others are to be run."""

    finished: dict[str, JobStatus]
    adopted: tuple[str, ...]
    """Of the finished: those whose end record was missing, in plan order."""
    distrusted: dict[str, str]
    """Declared finished, but the result does not bear it out; with the reason."""
    trained: Mapping[str, TrainedRecord]
    """Of the others: those whose training is over."""
    has_mended: bool = False
    """Whether the machine was started anew since the run was last settled, and finished jobs' states may have been written anew."""


def settle(
    run_dir: Path, job_ids: Iterable[str], *, journal: Journal | None = None, known: Trust | None = None
) -> Settlement:
    """Decide which of `job_ids` are finished.

    A job with an end record is finished when its `results.json` has the bytes that the record names by SHA-256, or when its events are
    what the record seals and reduce to those bytes: then the result is written anew. For a record that names none, when the file parses,
    is of that job and has that status. One without is adopted when its events are complete and reduce to exactly its `results.json`, but
    not one that stood on processes of its runner, or whose start a power cut took: nobody else knows whether they lived.
    With `journal`, which only the holder of the run's lock may pass, the missing records are written, what a runner that was cut short
    left on its way is removed, and where the machine was started anew since the run was last settled, the finished jobs' states, which
    are not flushed, are written anew where they differ. `known` is what the journals told earlier.

    Raises:
        RunDirError: with `journal`, when the ledger, the recording or the control log is not what the journal sealed.
    """
    layout = RunLayout(run_dir)
    trust = read_trust(layout, known=known)
    if journal is not None:
        _go_on(layout, journal, trust=trust)
    finished, doubtful = _borne_out_by_digests(layout, job_ids, trust)
    adopted: list[EndRecord] = []
    distrusted: dict[str, str] = {}
    has_mended = False
    for job_id in doubtful:
        try:
            end = _end_of(layout, job_id, trust=trust, write=journal is not None)
        except RunDirError as err:
            distrusted[job_id] = str(err)
            continue
        if end is not None:
            finished[job_id] = end.status
            if trust.end(job_id) is None:
                adopted.append(end)
    if journal is not None:
        commit(layout, adopted, journal=journal)
        for folder in (layout.path, layout.meta):
            files.remove_cut_short(folder, below=False)
        shutil.rmtree(layout.incoming, ignore_errors=True)
        has_mended = files.boot_id() not in trust.boots - {""}
        if has_mended:
            for job in map(layout.job, finished):
                files.remove_cut_short(job.path)
                mend_states(job, read_events(job).events)
            journal.settled()
    return Settlement(finished, tuple(end.job_id for end in adopted), distrusted, trust.trained, has_mended)


def _go_on(layout: RunLayout, journal: Journal, *, trust: Trust) -> None:
    """Refuse a run whose journal was harmed; begin that of one whose maker was killed before it could."""
    trust.demand_growing(layout)
    demand_journal(layout, trust=trust)
    if not trust.meta and not has_lived(layout):
        declare_meta(layout, journal)


def mend_states(layout: JobLayout, events: Sequence[Event]) -> None:
    """Write the state files of a job that differ from what its events demand; without effect when a blob is missing."""
    stale: Mapping[Path, bytes] = {}
    with suppress(RunDirError):
        stale = stale_states(layout, events, BlobStore(layout.blobs))
    for path, content in stale.items():
        files.make_dir(path.parent)
        files.write_whole(path, content)


def _end_of(layout: RunLayout, job_id: str, *, trust: Trust, write: bool) -> EndRecord | None:
    """Return how a job ended, None when it has not.

    Raises:
        RunDirError: when it is declared finished and neither its result nor its events bear that out, or what its files hold cannot be
            made a result.
    """
    try:
        return _checked_end(layout, job_id, trust=trust, write=write)
    except RunDirError:
        raise
    except Exception as err:
        if isinstance(err, OSError) and err.errno in UNWRITABLE:
            raise
        raise RunDirError(f"its files cannot be made a result: {type(err).__name__}: {err}") from err


def _checked_end(layout: RunLayout, job_id: str, *, trust: Trust, write: bool) -> EndRecord | None:
    declared = trust.end(job_id)
    if declared is None and trust.needs_its_runner(job_id):
        return None  # what it stood on may have died with its runner, or before, and passed for its measurements
    if declared is None or not declared.digest:
        if declared is None and speaks_against(layout.job(job_id), trust=trust):
            raise RunDirError("no journal declares it finished, and the index of files knows other files of it")
        return _verified(layout.job(job_id), declared)
    job = layout.job(job_id)
    try:
        is_whole = content_hash(read_whole(job.results)) == declared.digest
        why = "its `results.json` is not the file that the journal declared finished"
    except OSError as err:
        is_whole, why = False, f"its `results.json` cannot be read: {err.strerror}"
    if not is_whole and not _is_restored(job, declared, trust=trust, write=write):
        raise RunDirError(why)
    return declared


def _is_restored(job: JobLayout, declared: EndRecord, *, trust: Trust, write: bool) -> bool:
    """Say whether a lost or damaged result follows from sealed events; with `write`, put it back."""
    path = job.events.relative_to(job.run.path).as_posix()
    if declared.events is None or not trust.is_whole(job.run, path, declared.events):
        return False
    result = reduce_job(read_events(job).events)
    if sealed_bytes(result, declared.digest) is None:
        return False
    if write:
        quarantine(job.run, job.results)
        write_result(job, result, digest=declared.digest)
    return True


def _verified(job: JobLayout, declared: EndRecord | None) -> EndRecord | None:
    """Return how a job ended when its result bears that out, None when nothing says that it ended.

    Raises:
        RunDirError: when the job is declared finished and its result does not bear it out.
    """
    if declared is None:
        return _borne_out(job)
    stored = read_result(job)
    if declared.status != stored.result.status:
        raise RunDirError(f"the journal says `{declared.status}`, `results.json` says `{stored.result.status}`")
    return EndRecord(job.job_id, stored.result.status, stored.digest)


def _borne_out(job: JobLayout) -> EndRecord | None:
    """Return the end of a job whose events, blobs included, demand the result that lies there; None for any other."""
    try:
        stored = read_result(job)
        log = read_events(job)
        if log.unreadable or not any(isinstance(event, JobFinished) for event in log.events):
            return None
        blobs = BlobStore(job.blobs)
        for event in log.events:
            if isinstance(event, CandidateSeen):
                blobs.expand(event.values)
        is_demanded = sealed_bytes(reduce_job(log.events), stored.digest) is not None
    except RunDirError:
        return None
    return EndRecord(job.job_id, stored.result.status, stored.digest) if is_demanded else None


def _borne_out_by_digests(
    layout: RunLayout, job_ids: Iterable[str], trust: Trust
) -> tuple[dict[str, JobStatus], list[str]]:
    """Return the jobs whose results have the bytes that the journal names, and those of which more has to be asked."""
    finished: dict[str, JobStatus] = {}
    doubtful: list[str] = []
    with _Digests(layout) as digests:
        for job_id in job_ids:
            declared = trust.end(job_id)
            if declared is not None and declared.digest and digests.of(job_id) == declared.digest:
                finished[job_id] = declared.status
            else:
                doubtful.append(job_id)
    return finished, doubtful


class _Digests:
    """The SHA-256 of jobs' results, by as few calls to the system as it takes: a resumed run asks for 100,000."""

    def __init__(self, layout: RunLayout) -> None:
        self._path = layout.jobs
        self._folder = -1
        self._links: frozenset[str] = frozenset()

    def __enter__(self) -> _Digests:
        with suppress(OSError):
            self._folder = os.open(self._path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            with os.scandir(self._folder) as entries:
                self._links = frozenset(entry.name for entry in entries if entry.is_symlink())
        return self

    def __exit__(self, *exc: object) -> None:
        if self._folder >= 0:
            os.close(self._folder)

    def of(self, job_id: str) -> str:
        """Return the digest of a job's result, nothing for one that is missing, larger than most, or cannot be read."""
        if self._folder < 0 or job_id in self._links:
            return ""
        try:
            fd = os.open(job_id + "/results.json", FLAGS, dir_fd=self._folder)
            try:
                data = os.read(fd, _LARGE)
            finally:
                os.close(fd)
        except OSError:
            return ""
        return content_hash(data) if len(data) < _LARGE else ""
