"""Says what is inconsistent in a run directory, rebuilds what follows from something else, and sets aside what is damaged."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_core.specs import JobSpec
from tracebench_runs.check import checks
from tracebench_runs.check.checks import Finding
from tracebench_runs.check.mirror import declare_meta, is_mirror_true, mirrored, restore, write_mirror
from tracebench_runs.check.quarantine import quarantine
from tracebench_runs.check.recovery import mend_states
from tracebench_runs.journal import witness
from tracebench_runs.journal.commit import commit
from tracebench_runs.journal.index import changed_keeps, write_files_index
from tracebench_runs.journal.journal import EndRecord, Journal
from tracebench_runs.journal.trust import Trust, read_trust
from tracebench_runs.meta.manifest import read_head
from tracebench_runs.meta.planned import read_jobs
from tracebench_runs.meta.salt_files import close_secrets
from tracebench_runs.results.results import write_result
from tracebench_runs.results.tables import expected_tables
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_runs.storage.lock import RunLock
from tracebench_runs.storage.regular import read_whole
from tracebench_runs.storage.seal import seal_of

_OF_CONTENT = (ArithmeticError, ValueError, TypeError, LookupError, RecursionError)
"""What computing with the content of a job may raise: it says something of that job alone."""


def check_run(run_dir: Path) -> list[Finding]:
    """Return everything that is inconsistent, jobs first, in plan order. Writes nothing; of a run under way it tells the moment.

    Raises:
        RunDirError: when the folder is no run directory or of a newer format.
    """
    layout = RunLayout(run_dir)
    if irregular := list(checks.check_irregular(layout)):
        return irregular
    trust = read_trust(layout)
    jobs = _planned(layout, trust)
    findings = [f for job in jobs for f in _check_job(layout.job(job.job_id), job, trust=trust)]
    findings += checks.check_journals(layout, trust=trust)
    findings += checks.check_meta(layout, trust=trust)
    findings += checks.check_folders(layout, {job.job_id for job in jobs})
    findings += checks.check_tables(layout, jobs, trust=trust)
    findings += checks.check_index(layout, trust=trust)
    return findings


def repair_run(run_dir: Path) -> list[Finding]:
    """Rebuild what can be rebuilt and return what is left: losses, facts that nothing mends, and jobs that `resume` has to run again.

    A file that the journal or the index vouches for is never rewritten: where it is damaged, it moves to `lost+found/`.

    Raises:
        RunDirError: when the folder is no run directory, of a newer format, or in use by another process.
    """
    layout = RunLayout(run_dir)
    if irregular := list(checks.check_irregular(layout)):
        with RunLock(layout):
            for finding in irregular:
                quarantine(layout, layout.path / finding.path)
    trust = read_trust(layout)
    jobs = _planned(layout, trust)
    with RunLock(layout):
        for path in checks.leftovers(layout):
            files.remove(path)
        close_secrets(layout)
        _restore_meta(layout, trust)
        _mend(layout.control)
        with Journal(layout) as journal:
            commit(layout, list(_repaired(layout, jobs, trust=trust)), journal=journal)
            for entry in changed_keeps(layout, trust=trust):
                quarantine(layout, layout.path / entry.path)
            for path, content in expected_tables(layout, jobs, trust=trust).items():
                files.write_whole(path, content)
            write_files_index(layout, trust=trust)
            journal.indexed(seal_of(layout.files_index))
    return check_run(run_dir)


def accept_losses(run_dir: Path) -> list[Finding]:
    """Keep in the journal that a person knows of every loss that nothing mends, and return those.

    Raises:
        RunDirError: as `repair_run`.
    """
    layout = RunLayout(run_dir)
    losses = [finding for finding in check_run(run_dir) if finding.mended_by == "accept"]
    if losses:
        paths = dict.fromkeys(finding.path for finding in losses)
        with RunLock(layout), Journal(layout) as journal:
            trust = read_trust(layout)
            if witness.is_lost(layout, trust=trust):
                declare_meta(layout, journal)  # it begins anew
            elif layout.journal("main").name in paths:
                _tell_meta_again(layout, journal, trust=trust)
            for path in paths:
                journal.accepted(path, seal_of(layout.path / path))
            trust = read_trust(layout)
            write_files_index(layout, trust=trust, is_accepted=True)
            journal.indexed(seal_of(layout.files_index))
    return losses


def _tell_meta_again(layout: RunLayout, journal: Journal, *, trust: Trust) -> None:
    """Have a damaged journal say once more how the run began: where its key is not, the lines behind damage vouch for nothing."""
    files = {path: seal_of(file) for path, file in layout.described().items() if trust.holds_meta(layout, path)}
    journal.opened({path: seal for path, seal in files.items() if seal is not None})


def _check_job(layout: JobLayout, job: JobSpec, *, trust: Trust) -> list[Finding]:
    """Return what is inconsistent in a job; that its files cannot even be compared is one finding, and costs no other job."""
    try:
        return list(checks.check_job(layout, job, trust=trust))
    except _OF_CONTENT as err:
        words = f"it cannot be made a result: {type(err).__name__}: {err}"
        return [Finding("damaged", layout.events.relative_to(layout.run.path).as_posix(), words, "resume")]


def _planned(layout: RunLayout, trust: Trust) -> Sequence[JobSpec]:
    """Return the jobs of the manifest, of its second copy where the manifest itself is damaged."""
    path = layout.manifest.relative_to(layout.path).as_posix()
    if layout.manifest.is_file() and trust.holds_meta(layout, path):
        try:
            read_head(layout)
            return read_jobs(layout)
        except RunDirError:
            if trust.meta:
                raise
    copy = mirrored(layout, path, trust=trust)
    if copy is None:
        read_head(layout)
        return read_jobs(layout)
    return tuple(_jobs_of(json.loads(copy), layout))


def _jobs_of(manifest: dict[str, Any], layout: RunLayout) -> Iterator[JobSpec]:
    try:
        yield from (JobSpec.model_validate(job) for job in manifest["jobs"])
    except (ValidationError, KeyError, TypeError) as err:
        raise RunDirError(f"`{layout.mirror}` holds a manifest that cannot be read") from err


def _restore_meta(layout: RunLayout, trust: Trust) -> None:
    for path, file in layout.described().items():
        has_copy = mirrored(layout, path, trust=trust) is not None
        if has_copy and not (file.is_file() and trust.holds_meta(layout, path)):
            quarantine(layout, file)
            restore(layout, path, trust=trust)
    if all(trust.holds_meta(layout, path) for path in layout.described()) and not is_mirror_true(layout, trust=trust):
        write_mirror(layout)


def _repaired(layout: RunLayout, jobs: Iterable[JobSpec], *, trust: Trust) -> Iterator[EndRecord]:
    """Rebuild the files of the jobs that can be made sense of; yield the end records that the journal lacks."""
    for job in jobs:
        with suppress(*_OF_CONTENT):
            if (end := _repair_job(layout.job(job.job_id), job, trust=trust)) is not None:
                yield end


def _repair_job(layout: JobLayout, job: JobSpec, *, trust: Trust) -> EndRecord | None:
    """Rebuild the files of one job; return the end record that the journal lacks."""
    if not layout.path.is_dir():
        return None
    end = trust.end(job.job_id)
    if end is not None and end.digest:
        _repair_committed(layout, job, end=end, trust=trust)
        return None
    _mend(layout.events)
    reduced = checks.reduce_folder(layout, job)
    is_any = reduced.complete or layout.results.exists()
    if not reduced.log.events or not is_any or (end is None and trust.needs_its_runner(job.job_id)):
        return None
    if end is None and checks.is_doubtful(layout, reduced, trust=trust):
        for path in (layout.results, layout.events):
            quarantine(layout.run, path)
        return None
    if end is None and not layout.results.exists() and not witness.vouches_for_events(layout, trust=trust):
        return None  # nothing vouches for the events: the job is run again
    mend_states(layout, reduced.log.events)
    if not reduced.demands_file(layout):
        quarantine(layout.run, layout.results)
        write_result(layout, reduced.result)
    _set_meta_status(layout, reduced.result.status)
    digest = content_hash(read_whole(layout.results))
    return EndRecord(layout.job_id, reduced.result.status, digest) if end is None else None


def _repair_committed(layout: JobLayout, job: JobSpec, *, end: EndRecord, trust: Trust) -> None:
    """Rebuild what follows from the files that the journal vouches for, and set aside what is not what it vouches for."""
    has_result = checks.holds_result(layout, end)
    if not checks.are_events_sound(layout, end, trust=trust):
        if has_result:
            quarantine(layout.run, layout.events)
            _set_meta_status(layout, end.status)
        return
    reduced = checks.reduce_folder(layout, job)
    if not has_result and reduced.demands(end.digest):
        quarantine(layout.run, layout.results)
        write_result(layout, reduced.result, digest=end.digest)
        has_result = True
    if has_result:
        mend_states(layout, reduced.log.events)
        _set_meta_status(layout, end.status)


def _set_meta_status(layout: JobLayout, status: str) -> None:
    try:
        meta = json.loads(read_whole(layout.meta))
    except (OSError, ValueError):
        return
    if isinstance(meta, dict) and meta.get("status") != status:
        files.write_whole(layout.meta, json.dumps({**meta, "status": status}, indent=2).encode() + b"\n")


def _mend(path: Path) -> None:
    if files.read_lines(path).torn:
        log = files.AppendLog(path)
        log.mend()
        log.close()
