"""The run directory, format version 1: how a run is written, reduced, read, checked and mended.

The names of this package are for plugins that read runs: pages, sections of a report, loggers. A module is imported when one of its names
is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_runs.events.eventlog import read_events as read_events, stream_events as stream_events
    from tracebench_runs.events.reduce import reduce_job as reduce_job
    from tracebench_runs.events.states import candidate_scores as candidate_scores
    from tracebench_runs.meta.manifest import iter_job_lines as iter_job_lines, read_head as read_head
    from tracebench_runs.reading.reader import Run as Run, load_run as load_run
    from tracebench_runs.results.results import read_result as read_result
    from tracebench_runs.storage.blobs import BlobStore as BlobStore
    from tracebench_runs.storage.layout import JobLayout as JobLayout, RunLayout as RunLayout
    from tracebench_runs.storage.regular import open_regular as open_regular, read_whole as read_whole

__getattr__ = imported_on_use(__name__)
