"""Runs on disk, and runs that are under way: what a viewer, a history or a report reads.

A module is imported when one of its names is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracebench_core.lazy import imported_on_use

if TYPE_CHECKING:
    from tracebench_core.analysis.pooling import DEMONSTRATOR, is_demonstration
    from tracebench_core.engine.control_find import LiveRun, live_runs, tell
    from tracebench_core.llm.cassette.blobs import Blobs
    from tracebench_core.store.blobs import BlobStore
    from tracebench_core.store.eventlog import read_events
    from tracebench_core.store.export import export_run
    from tracebench_core.store.files import iter_lines
    from tracebench_core.store.layout import JobLayout, RunLayout
    from tracebench_core.store.lock import holder_of
    from tracebench_core.store.manifest import iter_job_lines, read_head
    from tracebench_core.store.overview import read_overview
    from tracebench_core.store.reader import Run, load_run
    from tracebench_core.store.regular import open_regular, read_whole
    from tracebench_core.store.results import read_result
    from tracebench_core.store.states import candidate_scores
    from tracebench_core.store.verifying import chain_of, chain_words, verify_run
    from tracebench_core.store.verifying import told as findings_told

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
        "tracebench_core.analysis.pooling": "DEMONSTRATOR is_demonstration",
        "tracebench_core.engine.control_find": "LiveRun live_runs tell",
        "tracebench_core.llm.cassette.blobs": "Blobs",
        "tracebench_core.store.blobs": "BlobStore",
        "tracebench_core.store.eventlog": "read_events",
        "tracebench_core.store.export": "export_run",
        "tracebench_core.store.files": "iter_lines",
        "tracebench_core.store.layout": "JobLayout RunLayout",
        "tracebench_core.store.lock": "holder_of",
        "tracebench_core.store.manifest": "iter_job_lines read_head",
        "tracebench_core.store.overview": "read_overview",
        "tracebench_core.store.reader": "Run load_run",
        "tracebench_core.store.regular": "open_regular read_whole",
        "tracebench_core.store.results": "read_result",
        "tracebench_core.store.states": "candidate_scores",
        "tracebench_core.store.verifying": "chain_of chain_words findings_told=told verify_run",
    },
)
