"""What can be inconsistent in a run directory: one generator of findings per question."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_core.specs import JobResult, JobSpec
from tracebench_core.store.blobs import BlobStore
from tracebench_core.store.eventlog import EventLog, read_events
from tracebench_core.store.files import TEMPORARY_SUFFIX, read_lines
from tracebench_core.store.journal import EndRecord
from tracebench_core.store.layout import JobLayout, RunLayout
from tracebench_core.store.meta import iter_files, read_files_index
from tracebench_core.store.reduce import Reducer
from tracebench_core.store.results import result_bytes
from tracebench_core.store.states import stale_states
from tracebench_core.store.tables import expected_tables

Code = Literal[
    "torn-line", "sequence-gap", "no-events", "missing-blob", "stale-result", "stale-states", "stale-meta",
    "uncommitted", "lost-result", "stale-table", "stale-index", "orphan-job", "leftover",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    code: Code
    path: str
    """Relative to the run directory."""
    message: str
    mended_by: Literal["repair", "resume", "nothing"]
    """`repair` rebuilds it from events, `resume` runs the job again, and for the rest there is only the fact."""


@dataclass(frozen=True, slots=True)
class Reduced:
    """What a job's events demand of its other files."""

    log: EventLog
    complete: bool
    """Whether the log has its end."""
    result: JobResult
    data: bytes
    """The result as `results.json` must hold it."""


def reduce_folder(layout: JobLayout, job: JobSpec) -> Reduced:
    """Reduce the events of a job folder."""
    log = read_events(layout)
    reducer = Reducer(job)
    for event in log.events:
        reducer.add(event)
    result = reducer.result()
    return Reduced(log, complete=reducer.complete, result=result, data=result_bytes(result))


def check_job(layout: JobLayout, job: JobSpec, *, end: EndRecord | None) -> Iterator[Finding]:
    """Compare the files of one job with its events and with the journal."""
    if not layout.path.is_dir():
        if end is not None:
            yield _finding(
                "lost-result",
                layout.results,
                layout,
                "the journal declares the job finished; its folder is gone",
                "resume",
            )
        return
    reduced = reduce_folder(layout, job)
    yield from _check_log(layout, reduced.log)
    has_result = layout.results.exists()
    if not has_result and not reduced.complete:
        if end is not None:
            yield _finding(
                "lost-result",
                layout.results,
                layout,
                "the journal declares the job finished; it has no result",
                "resume",
            )
        return
    if not reduced.log.events:
        yield _finding("no-events", layout.events, layout, "nothing bears out this result", "nothing")
        return
    if not has_result or layout.results.read_bytes() != reduced.data:
        yield _finding("stale-result", layout.results, layout, "it is not what the job's events reduce to", "repair")
    if end is None or (end.digest and end.digest != content_hash(reduced.data)):
        yield _finding("uncommitted", layout.results, layout, "no journal declares this result finished", "repair")
    if _meta_status(layout) not in {None, reduced.result.status}:
        yield _finding("stale-meta", layout.meta, layout, f"its status is not `{reduced.result.status}`", "repair")
    yield from _check_states(layout, reduced.log)


def check_journals(layout: RunLayout) -> Iterator[Finding]:
    """Look for torn lines in the logs of the run."""
    for path in [*layout.journals(), layout.control]:
        lines = read_lines(path)
        bad = sum(1 for line in lines.lines if not _is_json(line))
        if bad or lines.torn:
            relative = path.relative_to(layout.path).as_posix()
            yield Finding("torn-line", relative, _torn_words(bad), "repair" if lines.torn else "nothing")


def check_folders(layout: RunLayout, planned: Collection[str]) -> Iterator[Finding]:
    """Look for job folders that the manifest does not know and for temporary files that a crash left."""
    for job in layout.job_folders():
        if job.job_id not in planned:
            yield Finding("orphan-job", f"jobs/{job.job_id}", "the manifest has no such job", "nothing")
    for path in leftovers(layout):
        relative = path.relative_to(layout.path).as_posix()
        yield Finding("leftover", relative, "a write that a crash cut short", "repair")


def check_tables(layout: RunLayout, jobs: Sequence[JobSpec]) -> Iterator[Finding]:
    """Compare the tables with the results on disk."""
    for path, content in expected_tables(layout, jobs).items():
        if not path.exists() or path.read_bytes() != content:
            yield Finding("stale-table", path.name, "it does not follow from the jobs' results", "repair")


def check_index(layout: RunLayout) -> Iterator[Finding]:
    """Compare the index of files with the files."""
    where = layout.files_index.relative_to(layout.path).as_posix()
    index = read_files_index(layout)
    if index is None:
        yield Finding("stale-index", where, "there is no index of files", "repair")
        return
    listed = {entry.path: entry for entry in index}
    found = {entry.path: entry for entry in iter_files(layout)}
    for path in sorted(listed.keys() | found.keys()):
        if listed.get(path) != found.get(path):
            words = "is gone" if path not in found else "is not listed" if path not in listed else "has changed"
            yield Finding("stale-index", where, f"`{path}` {words}", "repair")


def leftovers(layout: RunLayout) -> list[Path]:
    """Return the temporary files that lie about, except in attempts that were put aside as they were."""
    found = layout.path.rglob(f".*{TEMPORARY_SUFFIX}")
    return sorted(path for path in found if not path.is_relative_to(layout.attempts))


def _check_log(layout: JobLayout, log: EventLog) -> Iterator[Finding]:
    torn = read_lines(layout.events).torn
    if log.unreadable or torn:
        yield _finding("torn-line", layout.events, layout, _torn_words(log.unreadable), "repair" if torn else "nothing")
    numbers = [event.seq for event in log.events]
    if numbers != list(range(len(numbers))):
        yield _finding("sequence-gap", layout.events, layout, "its events are not numbered without a gap", "nothing")


def _check_states(layout: JobLayout, log: EventLog) -> Iterator[Finding]:
    try:
        for path in stale_states(layout, log.events, BlobStore(layout.blobs)):
            yield _finding("stale-states", path, layout, "it does not follow from the job's events", "repair")
    except RunDirError as err:
        yield _finding("missing-blob", layout.blobs, layout, str(err), "nothing")


def _finding(
    code: Code, path: Path, job: JobLayout, message: str, mended_by: Literal["repair", "resume", "nothing"]
) -> Finding:
    return Finding(code, path.relative_to(job.run.path).as_posix(), message, mended_by)


def _meta_status(layout: JobLayout) -> str | None:
    try:
        return str(json.loads(layout.meta.read_bytes())["status"])
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _torn_words(unreadable: int) -> str:
    return f"{unreadable} lines cannot be read; readers skip them" if unreadable else "its last line lacks the newline"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True
