"""Says what is inconsistent in a run directory, and rebuilds every derived file from events."""

from __future__ import annotations

import json
from pathlib import Path

from tracebench_core.ids import content_hash
from tracebench_core.specs import JobSpec
from tracebench_core.store import checks, files
from tracebench_core.store.checks import Finding
from tracebench_core.store.journal import EndRecord, Journal, end_records
from tracebench_core.store.layout import JobLayout, RunLayout
from tracebench_core.store.lock import RunLock
from tracebench_core.store.meta import write_files_index
from tracebench_core.store.reader import load_run
from tracebench_core.store.recovery import mend_states
from tracebench_core.store.results import write_result
from tracebench_core.store.tables import expected_tables

REPAIR_WORKER = "repair"
"""Names the journal that a repair writes."""


def check_run(run_dir: Path) -> list[Finding]:
    """Return everything that is inconsistent, jobs first, in plan order. Writes nothing; of a run under way it tells the moment.

    Raises:
        RunDirError: when the folder is no run directory or of a newer format.
    """
    run = load_run(run_dir)
    layout, ends = run.layout, end_records(run.layout)
    findings = [
        found
        for job in run.planned
        for found in checks.check_job(layout.job(job.job_id), job, end=ends.get(job.job_id))
    ]
    findings += checks.check_journals(layout)
    findings += checks.check_folders(layout, {job.job_id for job in run.planned})
    findings += checks.check_tables(layout, run.planned)
    findings += checks.check_index(layout)
    return findings


def repair_run(run_dir: Path) -> list[Finding]:
    """Rebuild what can be rebuilt and return what is left: facts that nothing mends, and jobs that `resume` has to run again.

    Raises:
        RunDirError: when the folder is no run directory, of a newer format, or in use by another process.
    """
    run = load_run(run_dir)
    layout = run.layout
    with RunLock(layout):
        for path in checks.leftovers(layout):
            files.remove(path)
        for path in [*layout.journals(), layout.control]:
            _mend(path)
        ends = end_records(layout)
        repaired = (_repair_job(layout.job(job.job_id), job, end=ends.get(job.job_id)) for job in run.planned)
        _commit(layout, [end for end in repaired if end is not None])
        for path, content in expected_tables(layout, run.planned).items():
            files.write_whole(path, content)
        write_files_index(layout)
    return check_run(run_dir)


def _repair_job(layout: JobLayout, job: JobSpec, *, end: EndRecord | None) -> EndRecord | None:
    """Rebuild the files of one job; return the end record that the journal lacks."""
    if not layout.path.is_dir():
        return None
    _mend(layout.events)
    reduced = checks.reduce_folder(layout, job)
    if not reduced.log.events or not (reduced.complete or layout.results.exists()):
        return None
    mend_states(layout, reduced.log.events)
    if not layout.results.exists() or layout.results.read_bytes() != reduced.data:
        write_result(layout, reduced.result)
    _set_meta_status(layout, reduced.result.status)
    digest = content_hash(reduced.data)
    if end is None or (end.digest and end.digest != digest):
        return EndRecord(layout.job_id, reduced.result.status, digest)
    return None


def _commit(layout: RunLayout, ends: list[EndRecord]) -> None:
    if ends:
        with Journal(layout, REPAIR_WORKER) as journal:
            journal.jobs_finished(ends)


def _set_meta_status(layout: JobLayout, status: str) -> None:
    try:
        meta = json.loads(layout.meta.read_bytes())
    except (OSError, ValueError):
        return
    if isinstance(meta, dict) and meta.get("status") != status:
        files.write_whole(layout.meta, json.dumps({**meta, "status": status}, indent=2).encode() + b"\n")


def _mend(path: Path) -> None:
    if files.read_lines(path).torn:
        log = files.AppendLog(path)
        log.mend()
        log.close()
