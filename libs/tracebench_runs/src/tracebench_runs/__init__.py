"""The run directory, format version 1: how a run is written, reduced, read, checked and mended.

The names of this package are for plugins that read runs: pages, sections of a report, loggers. A module is imported when one of its names
is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_runs.events.eventlog import read_events
    from tracebench_runs.events.states import candidate_scores
    from tracebench_runs.meta.manifest import iter_job_lines, read_head
    from tracebench_runs.reading.reader import Run, load_run
    from tracebench_runs.results.results import read_result
    from tracebench_runs.storage.blobs import BlobStore
    from tracebench_runs.storage.layout import JobLayout, RunLayout
    from tracebench_runs.storage.regular import open_regular, read_whole

__all__ = [
    "BlobStore",
    "JobLayout",
    "Run",
    "RunLayout",
    "candidate_scores",
    "iter_job_lines",
    "load_run",
    "open_regular",
    "read_events",
    "read_head",
    "read_result",
    "read_whole",
]

__getattr__ = imported_on_use(
    __name__,
    {
        ".events.eventlog": "read_events",
        ".events.states": "candidate_scores",
        ".meta.manifest": "iter_job_lines read_head",
        ".reading.reader": "Run load_run",
        ".results.results": "read_result",
        ".storage.blobs": "BlobStore",
        ".storage.layout": "JobLayout RunLayout",
        ".storage.regular": "open_regular read_whole",
    },
)
