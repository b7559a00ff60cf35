"""Runs on disk, and runs that are under way: what a viewer, a history or a report reads.

A module is imported when one of its names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_analysis.comparison.pooling import DEMONSTRATOR, is_demonstration
    from tracebench_engine.run.control_find import LiveRun, live_runs, tell
    from tracebench_gateway.cassette.blobs import Blobs
    from tracebench_runs.check.verifying import chain_of, chain_words, verify_run
    from tracebench_runs.check.verifying import told as findings_told
    from tracebench_runs.events.eventlog import read_events
    from tracebench_runs.events.states import candidate_scores
    from tracebench_runs.export import export_run
    from tracebench_runs.meta.manifest import iter_job_lines, read_head
    from tracebench_runs.reading.reader import Run, load_run
    from tracebench_runs.results.overview import read_overview
    from tracebench_runs.results.results import read_result
    from tracebench_runs.storage.blobs import BlobStore
    from tracebench_runs.storage.files import iter_lines
    from tracebench_runs.storage.layout import JobLayout, RunLayout
    from tracebench_runs.storage.lock import holder_of
    from tracebench_runs.storage.regular import open_regular, read_whole

__all__ = [
    "DEMONSTRATOR",
    "BlobStore",
    "Blobs",
    "JobLayout",
    "LiveRun",
    "Run",
    "RunLayout",
    "candidate_scores",
    "chain_of",
    "chain_words",
    "export_run",
    "findings_told",
    "holder_of",
    "is_demonstration",
    "iter_job_lines",
    "iter_lines",
    "live_runs",
    "load_run",
    "open_regular",
    "read_events",
    "read_head",
    "read_overview",
    "read_result",
    "read_whole",
    "tell",
    "verify_run",
]

__getattr__ = imported_on_use(
    __name__,
    {
        "tracebench_analysis.comparison.pooling": "DEMONSTRATOR is_demonstration",
        "tracebench_engine.run.control_find": "LiveRun live_runs tell",
        "tracebench_gateway.cassette.blobs": "Blobs",
        "tracebench_runs.storage.blobs": "BlobStore",
        "tracebench_runs.events.eventlog": "read_events",
        "tracebench_runs.export": "export_run",
        "tracebench_runs.storage.files": "iter_lines",
        "tracebench_runs.storage.layout": "JobLayout RunLayout",
        "tracebench_runs.storage.lock": "holder_of",
        "tracebench_runs.meta.manifest": "iter_job_lines read_head",
        "tracebench_runs.results.overview": "read_overview",
        "tracebench_runs.reading.reader": "Run load_run",
        "tracebench_runs.storage.regular": "open_regular read_whole",
        "tracebench_runs.results.results": "read_result",
        "tracebench_runs.events.states": "candidate_scores",
        "tracebench_runs.check.verifying": "chain_of chain_words findings_told=told verify_run",
    },
)
