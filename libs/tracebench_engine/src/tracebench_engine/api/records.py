"""Runs on disk, and runs that are under way: what a viewer, a history or a report reads.

A module is imported when one of its names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_analysis.comparison.pooling import (
        DEMONSTRATOR as DEMONSTRATOR,
        is_demonstration as is_demonstration,
    )
    from tracebench_engine.builtin.progress import JobProgress as JobProgress
    from tracebench_engine.run.control_find import LiveRun as LiveRun, live_runs as live_runs, tell as tell
    from tracebench_gateway.cassette.blobs import Blobs as Blobs
    from tracebench_runs.check.verifying import (
        SHORT_HEAD as SHORT_HEAD,
        chain_of as chain_of,
        chain_words as chain_words,
        findings_told as findings_told,
        verify_run as verify_run,
    )
    from tracebench_runs.events.eventlog import read_events as read_events
    from tracebench_runs.events.states import candidate_scores as candidate_scores
    from tracebench_runs.export import export_run as export_run
    from tracebench_runs.meta.manifest import iter_job_lines as iter_job_lines, read_head as read_head
    from tracebench_runs.reading.briefs import Brief as Brief
    from tracebench_runs.reading.reader import Run as Run, load_run as load_run
    from tracebench_runs.results.overview import read_overview as read_overview
    from tracebench_runs.results.results import read_result as read_result
    from tracebench_runs.storage.blobs import BlobStore as BlobStore
    from tracebench_runs.storage.files import iter_lines as iter_lines
    from tracebench_runs.storage.layout import JobLayout as JobLayout, RunLayout as RunLayout
    from tracebench_runs.storage.lock import holder_of as holder_of
    from tracebench_runs.storage.regular import open_regular as open_regular, read_whole as read_whole

__getattr__ = imported_on_use(__name__)
