"""Goes on from a training that is over, in place of a scoring that was cut short with its runner."""

from __future__ import annotations

from itertools import islice

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobSpec
from tracebench_core.specs.events import CandidateSeen, JobStarted
from tracebench_runs.events.eventlog import iter_events
from tracebench_runs.journal.journal import TrainedRecord
from tracebench_runs.storage import files
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.layout import JobLayout
from tracebench_runs.storage.regular import open_regular, read_whole
from tracebench_runs.storage.seal import seal_of


def is_sound(layout: JobLayout, job: JobSpec, trained: TrainedRecord) -> bool:
    """Say whether a job's training lies there as it was sealed, with every candidate in full, made by the version that would score it."""
    if seal_of(layout.events, size=trained.events.size) != trained.events:
        return False
    blobs = BlobStore(layout.blobs)
    events = iter_events(_head(layout, trained).splitlines())
    for first in islice(events, 1):
        if not isinstance(first, JobStarted) or first.versions.get("plugin") != job.plugin_version:
            return False
    try:
        for event in events:
            if isinstance(event, CandidateSeen):
                blobs.expand(event.values)
    except RunDirError:
        return False
    return True


def set_back(layout: JobLayout, trained: TrainedRecord) -> None:
    """Let a job's events end where its training ended; what followed becomes an attempt of its own, which stays readable.

    Nothing that followed is vouched for, and the scoring that comes next would add to it. A result goes with the log that it follows from.
    """
    files.remove(layout.results)
    if layout.events.stat().st_size == trained.events.size:
        return
    head, tail = _head(layout, trained), read_whole(layout.events)[trained.events.size :]
    lost = layout.next_attempt()
    files.make_dir(lost.path)
    files.write_whole(lost.events, tail.removeprefix(b"\n"))
    files.write_whole(layout.events, head)


def _head(layout: JobLayout, trained: TrainedRecord) -> bytes:
    with open_regular(layout.events) as events:
        return events.read(trained.events.size)
