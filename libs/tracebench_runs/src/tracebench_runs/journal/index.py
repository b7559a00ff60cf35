"""`meta/files_index.json`: every file of a run with its size and SHA-256, and what changed since it was written.

A file that nothing can rebuild keeps the entry that it had when its job ended: a later index never takes damage for content.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import attrgetter
from typing import Any, NamedTuple

from tracebench_runs.journal import witness
from tracebench_runs.journal.trust import Trust
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import IrregularFileError, open_regular, read_whole
from tracebench_runs.storage.seal import Seal, seal_of
from tracebench_runs.storage.sharing import is_withheld

_CHUNK = 1 << 17
_ENTRY = '    {"path": '
"""How the line of an entry begins."""
_PLAIN = re.compile(rb'    \{"path": "([ !#-\[\]-~]+)", "size": (0|[1-9][0-9]*), "sha256": "([0-9a-f]{64})"\},?\n?')
"""The same, whole, of a path whose JSON is itself; a run may have a million."""
_LINES_AT_ONCE = 512
_KEPT = re.compile(r"(?:jobs/(?P<job>[^/]+)|attempts/[^/]+|llm/blobs)/.+")
_DERIVED = re.compile(
    r"jobs/[^/]+/(?:job_meta\.json|results\.json|events\.jsonl|artifacts/(?:(?:initial|best|final)_state\.yaml|state_history\.jsonl))"
)
"""Of a job's files, those that other checks look after: they are rebuilt, or sealed by the journal."""
_EVENTS = re.compile(r"jobs/([^/]+)/events\.jsonl")


class IndexedFile(NamedTuple):
    """One file of a run as the index knows it."""

    path: str
    """Relative to the run directory, with `/`."""
    size: int
    sha256: str

    @property
    def seal(self) -> Seal:
        return Seal(self.size, self.sha256)


def write_files_index(
    layout: RunLayout, *, trust: Trust | None = None, is_accepted: bool = False, is_continued: bool = False
) -> None:
    """List every file of the run, one line each, but for those that `iter_paths` leaves out.

    With `trust`, files that only the index vouches for keep their entry when they changed or went since; jobs are told that no journal
    declares finished, or whose events are not what it sealed, as the index vouches for none of their files; and unless a person has
    accepted it, a journal that was cut since keeps what was said of it. An index that `is_continued` takes over, where the journal
    vouches for the present one, what that says of the files of jobs that neither began nor were written since; whoever has mended files
    of such a job makes it anew.
    """
    files.make_dir(layout.meta)
    undeclared = [] if trust is None else [job for job in layout.job_ids() if trust.end(job) is None]
    if trust is None:
        entries = iter_files(layout)
    elif is_continued and trust.index is not None and is_index_known(layout, trust=trust):
        entries = _continued(layout, trust)
    else:
        entries = _merged(iter_files(layout), [*changed_keeps(layout, trust=trust)])
    if trust is not None:
        entries = _noting_changed_events(entries, trust, undeclared)
    files.write_whole(
        layout.files_index, _index_lines(entries, witness.heads(layout, anew=is_accepted), undeclared=undeclared)
    )


def _continued(layout: RunLayout, trust: Trust) -> Iterator[IndexedFile]:
    """Yield the entries of a run's files by path: those of the present index, and of what is new or was written since as it is now.

    What only the index vouches for keeps its entry, changed, gone or not, unless a person has accepted it as it is.
    """
    above = len(os.path.join(layout.path, ""))  # noqa: PTH118 - as are the paths
    written = layout.files_index.stat().st_mtime_ns
    entries = _iter_files_index(layout, trust)
    known = next(entries, None)
    for path in _walk(layout):
        name = path[above:]
        while known is not None and known.path < name:
            if _is_held(known, trust):
                yield known
            known = next(entries, None)
        if (
            known is not None
            and known.path == name
            and (_is_held(known, trust) or _is_older(path, known, written, trust))
        ):
            yield known
        elif (found := _indexed(path, name)) is not None:
            yield found
    while known is not None:
        if _is_held(known, trust):
            yield known
        known = next(entries, None)


def _is_held(entry: IndexedFile, trust: Trust) -> bool:
    """Say whether nothing but the index vouches for a file, whose entry therefore stays."""
    return _is_keep(entry.path, trust) and entry.path not in trust.accepted


def _is_older(path: str, entry: IndexedFile, written: int, trust: Trust) -> bool:
    """Say whether a job's file was last written before the index, in nanoseconds of its clock, and its job did not begin since."""
    found = _KEPT.fullmatch(entry.path)
    if found is None or found["job"] is None or found["job"] in trust.begun_since or entry.path in trust.accepted:
        return False
    try:
        now = os.lstat(path)
    except OSError:
        return False
    return now.st_size == entry.size and now.st_mtime_ns < written


def _merged(found: Iterable[IndexedFile], held: Iterable[IndexedFile]) -> Iterator[IndexedFile]:
    """Yield entries by path, those that are held in the place of those that were found; both come by path."""
    before = ""
    for entry in heapq.merge(held, found, key=attrgetter("path")):  # of equals, the held one comes first
        if entry.path != before:
            before = entry.path
            yield entry


def _noting_changed_events(entries: Iterable[IndexedFile], trust: Trust, noted: list[str]) -> Iterator[IndexedFile]:
    """Pass entries on, and note the jobs whose events are not what the journal sealed: were it lost, the index must not vouch for them."""
    for entry in entries:
        found = _EVENTS.fullmatch(entry.path)
        end = None if found is None else trust.end(found[1])
        if end is not None and end.events not in {None, entry.seal} and entry.path not in trust.accepted:
            noted.append(end.job_id)
        yield entry


def changed_keeps(layout: RunLayout, *, trust: Trust) -> Iterator[IndexedFile]:
    """Yield the entries of files that nothing can rebuild and that are not what they were when the index was written."""
    for entry in _iter_files_index(layout, trust):
        if _is_keep(entry.path, trust) and not trust.is_whole(layout, entry.path, entry.seal):
            yield entry


def _is_keep(path: str, trust: Trust) -> bool:
    """Say whether nothing can rebuild a file, of no job that began since the index was written."""
    found = _KEPT.fullmatch(path)
    is_within = not {"", ".", ".."}.intersection(path.split("/"))  # a stranger may have written the index
    return found is not None and is_within and not _DERIVED.fullmatch(path) and found["job"] not in trust.begun_since


def iter_files(layout: RunLayout) -> Iterator[IndexedFile]:
    """Yield the files of a run as they are now, by path; without those that whoever looks may not read."""
    above = len(os.path.join(layout.path, ""))  # noqa: PTH118 - as are the paths
    for path in _walk(layout):
        if (found := _indexed(path, path[above:])) is not None:
            yield found


def _indexed(path: str, name: str) -> IndexedFile | None:
    """Return the entry of a file as it is; None where a job that goes on replaced it, or it is its owner's alone, or consists of holes."""
    try:
        return IndexedFile(name, *_measure(path))
    except (FileNotFoundError, PermissionError, IrregularFileError):
        return None


def _walk(layout: RunLayout) -> Iterator[str]:
    """Yield the paths of a run's files, in the order of their texts.

    Left out are the index, the lock, temporary files, what was set aside or is on its way, and what goes on after the index is written:
    journals and log.
    """
    top = os.path.join(layout.path, "")  # noqa: PTH118 - text, of which a run may have a million
    aside = (
        layout.files_index,
        layout.lock,
        layout.run_log,
        layout.lost_and_found,
        layout.incoming,
        *layout.journals(),
    )
    left_out = {str(path) for path in aside}
    yield from (path for path in _below(top, left_out) if not path.endswith(files.TEMPORARY_SUFFIX))


def _below(folder: str, left_out: Collection[str]) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = sorted((f"{e.path}/" if e.is_dir() else e.path, e) for e in entries if e.path not in left_out)
    except OSError:  # it is gone, or nobody may look into it
        return
    for path, entry in found:
        if path.endswith("/"):
            if not entry.is_symlink():
                yield from _below(path, left_out)
        elif entry.is_file(follow_symlinks=False):
            yield path


def unlisted(layout: RunLayout) -> Iterator[tuple[str, str]]:
    """Yield the files that no index can list, by their paths in the run directory, and why."""
    for path in _walk(layout):
        try:
            open_regular(path).close()
        except IrregularFileError as err:
            yield os.path.relpath(path, layout.path), str(err.strerror)
        except OSError:
            continue


def read_files_index(layout: RunLayout, *, trust: Trust | None = None) -> list[IndexedFile] | None:
    """Return the index as it was written; None when there is none that can be read, or with `trust` none that the journal knows."""
    if trust is not None and not is_index_known(layout, trust=trust):
        return None
    try:
        return [IndexedFile(**entry) for entry in json.loads(read_whole(layout.files_index))["files"]]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _iter_files_index(layout: RunLayout, trust: Trust) -> Iterator[IndexedFile]:
    """Yield the entries that `read_files_index` returns, those of an index that the journal vouches for one by one."""
    if trust.index is None or not is_index_known(layout, trust=trust):
        yield from sorted(read_files_index(layout, trust=trust) or (), key=attrgetter("path"))
        return
    for line in files.iter_lines(layout.files_index):
        if (found := _PLAIN.fullmatch(line)) is not None:
            yield IndexedFile(found[1].decode(), int(found[2]), found[3].decode())
        elif line.startswith(_ENTRY.encode()):
            yield IndexedFile(**json.loads(line.rstrip(b",")))


def is_index_known(layout: RunLayout, *, trust: Trust) -> bool:
    """Say whether the index is the one that the journal vouches for; of a run whose journal names none, any is."""
    return trust.index is None or seal_of(layout.files_index) == trust.index


def differences(layout: RunLayout, listed: Iterable[IndexedFile]) -> Mapping[str, str]:
    """Return in which way every path differs from the index: `is gone`, `is not listed`, `has changed`; what may not be read does not."""
    before = {entry.path: entry for entry in listed if not is_withheld(layout.path / entry.path)}
    now = {entry.path: entry for entry in iter_files(layout)}
    return {
        path: "is gone" if path not in now else "is not listed" if path not in before else "has changed"
        for path in sorted(before.keys() | now.keys())
        if before.get(path) != now.get(path)
    }


def _index_lines(
    entries: Iterable[IndexedFile], journals: Mapping[str, Any], *, undeclared: Sequence[str]
) -> Iterator[bytes]:
    yield b'{\n  "files": [\n'
    separator = ""
    for many in _batches(entries):
        lines = (f'{_ENTRY}{json.dumps(e.path)}, "size": {e.size}, "sha256": "{e.sha256}"}}' for e in many)
        yield (separator + ",\n".join(lines)).encode()
        separator = ",\n"
    yield b"\n  ],\n"
    if undeclared:
        yield witness.UNDECLARED + json.dumps(undeclared).encode() + b",\n"
    yield b'  "journals": ' + json.dumps(journals).encode() + b"\n}\n"


def _batches(entries: Iterable[IndexedFile]) -> Iterator[list[IndexedFile]]:
    left = iter(entries)
    while batch := [*islice(left, _LINES_AT_ONCE)]:
        yield batch


def _measure(path: str) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    with open_regular(path, buffering=0) as content:
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()
