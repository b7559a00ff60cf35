"""Declares jobs finished, many at a time: their files are flushed together, then their end records with one flush more."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tracebench_runs.journal.journal import EndRecord, Journal
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_runs.storage.seal import seal_of


def commit(layout: RunLayout, ends: Sequence[EndRecord], *, journal: Journal) -> None:
    """Make what ended jobs wrote survive a power cut, and only then declare them finished, with a seal on their events.

    Their processes flush nothing: a disk flushes the files of many jobs about as fast as one file.

    Raises:
        OSError: when the disk does not take it; then none of them is declared finished.
    """
    if not ends:
        return
    for end in ends:
        _remove_empty(layout.job(end.job_id).stdout)
    jobs = [path for end in ends for path in _durable_paths(layout.job(end.job_id))]
    files.sync_all([*jobs, *(path for path in layout.growing().values() if path.exists())])
    files.sync_all([layout.jobs])
    journal.jobs_finished(end._replace(events=seal_of(layout.job(end.job_id).events)) for end in ends)


def _remove_empty(log: Path) -> None:
    """Remove the file of a job that printed nothing: nobody can write to it any more."""
    with suppress(FileNotFoundError):
        if log.stat().st_size == 0:
            log.unlink()


def _durable_paths(job: JobLayout) -> Iterator[Path]:
    """Yield what cannot be rebuilt, or is compared byte by byte; the states follow from the events and are left out."""
    yield from (path for path in (job.events, job.results, job.meta) if path.exists())
    for folder, _, names in os.walk(job.blobs):
        yield from (Path(folder, name) for name in names if not name.endswith(files.TEMPORARY_SUFFIX))
        yield Path(folder)
    yield job.path
