"""Runs on disk, and runs that are under way: what a viewer, a history or a report reads."""

from tracebench_core.engine.control_find import LiveRun, live_runs, tell
from tracebench_core.llm.cassette.blobs import Blobs
from tracebench_core.store.blobs import BlobStore
from tracebench_core.store.files import iter_lines
from tracebench_core.store.layout import JobLayout, RunLayout
from tracebench_core.store.manifest import iter_job_lines, read_head
from tracebench_core.store.reader import Run, load_run
from tracebench_core.store.regular import open_regular, read_whole
from tracebench_core.store.results import read_result
from tracebench_core.store.states import candidate_scores
from tracebench_core.store.verifying import chain_of, chain_words, verify_run
from tracebench_core.store.verifying import told as findings_told

__all__ = [
    "BlobStore",
    "Blobs",
    "JobLayout",
    "LiveRun",
    "Run",
    "RunLayout",
    "candidate_scores",
    "chain_of",
    "chain_words",
    "findings_told",
    "iter_job_lines",
    "iter_lines",
    "live_runs",
    "load_run",
    "open_regular",
    "read_head",
    "read_result",
    "read_whole",
    "tell",
    "verify_run",
]
