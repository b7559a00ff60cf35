"""What can be inconsistent in a run directory: one generator of findings per question."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Literal

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_core.specs import JobResult, JobSpec
from tracebench_runs.check.mirror import is_mirror_true, mirrored
from tracebench_runs.check.older import is_told_by
from tracebench_runs.events.eventlog import EventLog, read_events
from tracebench_runs.events.reduce import Reducer
from tracebench_runs.events.states import stale_states
from tracebench_runs.journal import witness
from tracebench_runs.journal.index import changed_keeps, differences, read_files_index, unlisted
from tracebench_runs.journal.journal import EndRecord
from tracebench_runs.journal.trust import Trust
from tracebench_runs.results.results import sealed_bytes
from tracebench_runs.results.tables import expected_tables
from tracebench_runs.storage.blobs import BlobStore
from tracebench_runs.storage.files import TEMPORARY_SUFFIX, read_lines
from tracebench_runs.storage.layout import JobLayout, RunLayout
from tracebench_runs.storage.regular import IrregularFileError, link_above, open_regular, read_whole
from tracebench_runs.storage.sharing import is_withheld

Code = Literal[
    "torn-line", "sequence-gap", "no-events", "missing-blob", "stale-result", "stale-states", "stale-meta", "uncommitted",
    "lost-result", "stale-table", "stale-index", "stale-mirror", "orphan-job", "leftover", "damaged", "lost", "unproven-events",
]  # fmt: skip
Way = Literal["repair", "resume", "accept", "nothing"]

_NAMED = 5
"""Lines of a journal that one finding names."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it should be."""

    code: Code
    path: str
    """Relative to the run directory."""
    message: str
    mended_by: Way
    """`repair` rebuilds it, or sets it aside; `resume` runs the job again; `accept` keeps that a person knows of a loss that nothing
    mends; and for the rest there is only the fact, which does no harm."""


class Reduced:
    """What a job's events demand of its other files; they are reduced when that is asked."""

    def __init__(self, log: EventLog, job: JobSpec) -> None:
        self.log = log
        self._job = job

    @property
    def complete(self) -> bool:
        """Whether the log has its end."""
        return self._reducer.complete

    @cached_property
    def result(self) -> JobResult:
        return self._reducer.result()

    def demands(self, digest: str) -> bool:
        """Say whether `results.json` must be the text of this SHA-256."""
        return sealed_bytes(self.result, digest) is not None

    def demands_file(self, layout: JobLayout) -> bool:
        """Say whether the result that lies there is the one."""
        return layout.results.exists() and self.demands(content_hash(read_whole(layout.results)))

    @cached_property
    def _reducer(self) -> Reducer:
        reducer = Reducer(self._job)
        for event in self.log.events:
            reducer.add(event)
        return reducer


def reduce_folder(layout: JobLayout, job: JobSpec) -> Reduced:
    """Read the events of a job folder, to be reduced."""
    return Reduced(read_events(layout), job)


def check_job(layout: JobLayout, job: JobSpec, *, trust: Trust) -> Iterator[Finding]:
    """Compare the files of one job with its events and with the journal.

    What the journal vouches for stands above everything: a result that has its SHA-256 is right, whatever its events reduce to by now.
    """
    end = trust.end(job.job_id)
    if not layout.path.is_dir():
        if job.job_id in trust.ends:
            words = "the journal declares the job finished; its folder is gone"
            yield _finding("lost-result", layout.results, layout, words, "resume")
        return
    has_result = holds_result(layout, end)
    if end is not None and end.events is not None and not are_events_sound(layout, end, trust=trust):
        if not has_result:
            words = "the journal declares the job finished; neither its result nor its events are what it vouches for"
            yield _finding("lost-result", layout.results, layout, words, "resume")
        elif layout.events.exists():
            words = "it is not what the journal sealed; the result is"
            yield _finding("damaged", layout.events, layout, words, "repair")
        else:
            yield _finding("lost", layout.events, layout, "it is gone; the result is as it was", "accept")
        yield from _check_meta_status(layout, end.status)
        return
    yield from _check_against_events(layout, job, end=end, has_result=has_result, trust=trust)


def are_events_sound(layout: JobLayout, end: EndRecord, *, trust: Trust) -> bool:
    """Say whether a job's events are what the journal sealed."""
    path = layout.events.relative_to(layout.run.path).as_posix()
    return trust.is_whole(layout.run, path, end.events)


def holds_result(layout: JobLayout, end: EndRecord | None) -> bool:
    """Say whether a job has the result that the journal vouches for; any result, where it names none."""
    try:
        data = read_whole(layout.results)
    except OSError:
        return False
    return end is None or not end.digest or content_hash(data) == end.digest


def _check_against_events(
    layout: JobLayout, job: JobSpec, *, end: EndRecord | None, has_result: bool, trust: Trust
) -> Iterator[Finding]:
    reduced = reduce_folder(layout, job)
    committed = end is not None and bool(end.digest)
    if not committed or not has_result:
        yield from _check_log(layout, reduced.log)
    if not has_result and not reduced.complete:
        if end is not None or job.job_id in trust.ends:
            words = "the journal declares the job finished; it has no result"
            yield _finding("lost-result", layout.results, layout, words, "resume")
        return
    if end is None and trust.needs_its_runner(job.job_id):
        words = "no journal declares it finished, and what it stood on may have died under it"
        yield _finding("uncommitted", layout.results, layout, words, "resume")
        return
    if not reduced.log.events:
        if committed and layout.events.relative_to(layout.run.path).as_posix() in trust.accepted:
            return
        way: Way = "accept" if committed and has_result else "nothing"
        yield _finding("no-events", layout.events, layout, "nothing bears out this result", way)
        return
    yield from _check_result(layout, reduced, end=end, has_result=has_result, trust=trust)
    yield from _check_meta_status(layout, end.status if end is not None and has_result else reduced.result.status)
    yield from _check_states(layout, reduced.log)


def _check_result(
    layout: JobLayout, reduced: Reduced, *, end: EndRecord | None, has_result: bool, trust: Trust
) -> Iterator[Finding]:
    if end is not None and end.digest:
        if not has_result:
            if reduced.demands(end.digest):
                words = "it is not what the journal vouches for; the job's events are, and reduce to it"
                yield _finding("stale-result", layout.results, layout, words, "repair")
            else:
                words = "it is not what the journal vouches for, and its events do not reduce to that"
                yield _finding("lost-result", layout.results, layout, words, "resume")
        elif end.events is None and not reduced.demands_file(layout):
            words = "they do not reduce to the result, which is as the journal vouches for"
            yield _finding("unproven-events", layout.events, layout, words, "accept")
        return
    if end is None and is_doubtful(layout, reduced, trust=trust):
        words = "it is not what the job's events reduce to, or not what the index of files knows, and no journal vouches for either"
        yield _finding("lost-result", layout.results, layout, words, "repair" if layout.events.exists() else "resume")
        return
    if not has_result or not reduced.demands_file(layout):
        yield _finding("stale-result", layout.results, layout, "it is not what the job's events reduce to", "repair")
    if end is None:
        yield _finding("uncommitted", layout.results, layout, "no journal declares this result finished", "repair")


def is_doubtful(layout: JobLayout, reduced: Reduced, *, trust: Trust) -> bool:
    """Say whether a job that no journal declares finished has files of which it cannot be told which are right.

    They are set aside, and the job is run again. Events that the index vouches for are right, and the result follows from them.
    """
    if witness.vouches_for_events(layout, trust=trust):
        return False
    return witness.speaks_against(layout, trust=trust) or (layout.results.exists() and not reduced.demands_file(layout))


def _check_meta_status(layout: JobLayout, status: str) -> Iterator[Finding]:
    if _meta_status(layout) not in {None, status}:
        yield _finding("stale-meta", layout.meta, layout, f"its status is not `{status}`", "repair")


def check_irregular(layout: RunLayout) -> Iterator[Finding]:
    """Look for what lies in the place of a file of the run and is none: nothing else can be compared before it is set aside."""
    of_run = (
        layout.files_index, layout.mirror, layout.control, layout.ledger, layout.calls, layout.results_csv,
        layout.leaderboard_csv, layout.summary, *layout.described().values(), *layout.journals(),
    )  # fmt: skip
    of_jobs = (
        path
        for job in layout.job_folders()
        for path in (
            job.events,
            job.results,
            job.meta,
            job.initial_state,
            job.best_state,
            job.final_state,
            job.state_history,
        )
    )
    yield from _check_links(layout)
    for path in chain(of_run, of_jobs):
        try:
            open_regular(path).close()
        except IrregularFileError as err:
            yield Finding("damaged", path.relative_to(layout.path).as_posix(), str(err.strerror), "repair")
        except OSError:
            continue  # it is not there, or cannot be read: others say so


def _check_links(layout: RunLayout) -> Iterator[Finding]:
    """Look for folders of the run that are links: what lies behind one is no part of the run."""
    jobs = (part for job in layout.job_folders() for part in (job.path, job.artifacts, job.blobs))
    own = (layout.meta, layout.jobs, layout.llm, layout.llm_blobs, layout.attempts)
    for path in chain(own, jobs):
        if path.is_symlink() and not link_above(str(path)):
            yield Finding("damaged", path.relative_to(layout.path).as_posix(), "it is a link", "repair")


def check_journals(layout: RunLayout, *, trust: Trust) -> Iterator[Finding]:
    """Look for damage in the logs of the run, and for lines that a crash tore."""
    for damage in trust.damage:
        words = f"{damage.lines} of its lines were changed, or are missing, doubled or out of place"
        named = list(dict.fromkeys(damage.words))
        words += f": {'; '.join(named[:_NAMED])}{'; …' if len(named) > _NAMED else ''}" if named else ""
        yield Finding("damaged", damage.path, words, "accept")
    for loss in witness.losses(layout, trust=trust):
        code: Code = "damaged" if (layout.path / loss.path).exists() else "lost"
        yield Finding(code, loss.path, loss.words, "accept")
    for name in trust.torn:
        yield Finding("torn-line", name, "a line that a crash cut short; readers skip it", "nothing")
    for name, path in layout.growing().items():
        if not trust.is_intact(layout, name, trust.seals.get(name)):
            code = "damaged" if path.exists() else "lost"
            yield Finding(code, name, "it is not what the journal sealed", "accept")
    lines = read_lines(layout.control)
    bad = sum(1 for line in lines.lines if not _is_json(line))
    if bad or lines.torn:
        name = layout.control.relative_to(layout.path).as_posix()
        yield Finding("torn-line", name, _torn_words(bad), "repair" if lines.torn else "nothing")


def check_meta(layout: RunLayout, *, trust: Trust) -> Iterator[Finding]:
    """Compare what says what the run is with the journal and with its second copies."""
    for path, file in layout.described().items():
        if is_withheld(file):
            continue
        has_copy = mirrored(layout, path, trust=trust) is not None
        if trust.holds_meta(layout, path) and (file.is_file() or not has_copy):
            continue
        if path in trust.accepted and trust.is_intact(layout, path, None):
            continue
        code: Code = "damaged" if file.exists() else "lost"
        words = "it is not what the journal vouches for" if file.exists() else "it is gone"
        yield Finding(code, path, words, "repair" if has_copy else "accept")
    if not is_mirror_true(layout, trust=trust):
        words = "it is not the second copy of `meta/` that it should be"
        yield Finding("stale-mirror", layout.mirror.name, words, "repair")


def check_folders(layout: RunLayout, planned: Collection[str]) -> Iterator[Finding]:
    """Look for job folders that the manifest does not know and for temporary files that a crash left."""
    for job in layout.job_folders():
        if job.job_id not in planned:
            yield Finding("orphan-job", f"jobs/{job.job_id}", "the manifest has no such job", "nothing")
    for path in leftovers(layout):
        relative = path.relative_to(layout.path).as_posix()
        yield Finding("leftover", relative, "a write that a crash cut short", "repair")


def check_tables(layout: RunLayout, jobs: Sequence[JobSpec], *, trust: Trust) -> Iterator[Finding]:
    """Compare the tables with the results on disk."""
    for path, content in expected_tables(layout, jobs, trust=trust).items():
        if not path.exists() or not is_told_by(read_whole(path), content, suffix=path.suffix):
            yield Finding("stale-table", path.name, "it does not follow from the jobs' results", "repair")


def check_index(layout: RunLayout, *, trust: Trust) -> Iterator[Finding]:
    """Compare the index of files with the files."""
    where = layout.files_index.relative_to(layout.path).as_posix()
    listed = read_files_index(layout, trust=trust)
    if listed is None:
        words = (
            "there is no index of files" if not layout.files_index.exists() else "it is not the index that was written"
        )
        yield Finding("stale-index", where, words, "repair")
        return
    for path, words in unlisted(layout):
        yield Finding("damaged", path, f"{words}: the index of files leaves it out", "nothing")
    kept = {entry.path for entry in changed_keeps(layout, trust=trust)}
    for path, words in differences(layout, listed).items():
        if path in kept and (layout.path / path).exists():
            yield Finding("damaged", path, "it is not what it was when its job ended", "repair")
        elif path in kept:
            yield Finding("lost", path, "it is gone, and nothing can rebuild it", "accept")
        else:
            yield Finding("stale-index", where, f"`{path}` {words}", "repair")


def leftovers(layout: RunLayout) -> list[Path]:
    """Return the temporary files that lie about, except in attempts that were put aside as they were."""
    found = layout.path.rglob(f".*{TEMPORARY_SUFFIX}")
    return sorted(
        path
        for path in found
        if not path.is_relative_to(layout.attempts) and not path.is_relative_to(layout.lost_and_found)
    )


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


def _finding(code: Code, path: Path, job: JobLayout, message: str, mended_by: Way) -> Finding:
    return Finding(code, path.relative_to(job.run.path).as_posix(), message, mended_by)


def _meta_status(layout: JobLayout) -> str | None:
    try:
        return str(json.loads(read_whole(layout.meta))["status"])
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
