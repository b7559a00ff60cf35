"""What a resumed run may skip: finished jobs are verified against their results, and lost end records are adopted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_core.specs import JobStatus
from tracebench_core.store.journal import EndRecord, Journal, end_records
from tracebench_core.store.layout import JobLayout, RunLayout
from tracebench_core.store.results import StoredResult, read_result


@dataclass(frozen=True, slots=True)
class Settlement:
    """How the jobs of a run stand: `finished` may be skipped; all others are to be run."""

    finished: dict[str, JobStatus]
    adopted: tuple[str, ...]
    """Of the finished: those whose end record was missing, in plan order."""
    distrusted: dict[str, str]
    """Declared finished, but the result does not bear it out; with the reason."""


def settle(run_dir: Path, job_ids: Iterable[str], *, journal: Journal | None = None) -> Settlement:
    """Decide which of `job_ids` are finished.

    A job with an end record is finished when its `results.json` has the bytes that the record names by SHA-256; for a record that names
    none, when the file parses, is of that job and has that status. A job without an end record is adopted when its `results.json`
    parses and is of that job: it was put there whole and durable, only the record is missing; with `journal` it is written now.
    """
    layout = RunLayout(run_dir)
    ends = end_records(layout)
    finished: dict[str, JobStatus] = {}
    adopted: list[EndRecord] = []
    distrusted: dict[str, str] = {}
    for job_id in job_ids:
        job, end = layout.job(job_id), ends.get(job_id)
        if end is not None and end.digest:
            problem = _mismatch(job, digest=end.digest)
            if not problem:
                finished[job_id] = end.status
            else:
                distrusted[job_id] = problem
        elif (stored := _stored(job)) is not None:
            status = stored.result.status
            if end is None:
                adopted.append(EndRecord(job_id, status, stored.digest))
                finished[job_id] = status
            elif status == end.status:
                finished[job_id] = status
            else:
                distrusted[job_id] = f"the journal says `{end.status}`, `results.json` says `{status}`"
        elif end is not None:
            distrusted[job_id] = "`results.json` is missing or cannot be read"
    if journal is not None:
        journal.jobs_finished(adopted)
    return Settlement(finished, tuple(end.job_id for end in adopted), distrusted)


def _mismatch(job: JobLayout, *, digest: str) -> str:
    try:
        data = job.results.read_bytes()
    except OSError:
        return "`results.json` is missing or cannot be read"
    return "" if content_hash(data) == digest else "`results.json` is not the file that the journal declared finished"


def _stored(job: JobLayout) -> StoredResult | None:
    try:
        return read_result(job)
    except RunDirError:
        return None
