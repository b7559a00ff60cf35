"""`meta/files_index.json`: every file of a run with its size and SHA-256, and what changed since it was written.

A file that nothing can rebuild keeps the entry that it had when its job ended: a later index never takes damage for content.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tracebench_core.store import files
from tracebench_core.store.layout import RunLayout
from tracebench_core.store.seal import Seal, seal_of
from tracebench_core.store.trust import Trust

_CHUNK = 1 << 20
_KEPT = re.compile(r"(?:jobs/(?P<job>[^/]+)|attempts/[^/]+|llm/blobs)/.+")
_DERIVED = re.compile(
    r"jobs/[^/]+/(?:job_meta\.json|results\.json|events\.jsonl|artifacts/(?:(?:initial|best|final)_state\.yaml|state_history\.jsonl))"
)
"""Of a job's files, those that other checks look after: they are rebuilt, or sealed by the journal."""


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """One file of a run as the index knows it."""

    path: str
    """Relative to the run directory, with `/`."""
    size: int
    sha256: str

    @property
    def seal(self) -> Seal:
        return Seal(self.size, self.sha256)


def write_files_index(layout: RunLayout, *, trust: Trust | None = None) -> None:
    """List every file of the run, one line each, but for those that `iter_paths` leaves out.

    With `trust`, files that only the index vouches for keep their entry when they changed or went since.
    """
    held = {} if trust is None else {entry.path: entry for entry in changed_keeps(layout, trust=trust)}
    files.make_dir(layout.meta)
    entries = {entry.path: entry for entry in iter_files(layout)} | held
    files.write_whole(layout.files_index, _index_lines(entries[path] for path in sorted(entries)))


def changed_keeps(layout: RunLayout, *, trust: Trust) -> Iterator[IndexedFile]:
    """Yield the entries of files that nothing can rebuild and that are not what they were when the index was written."""
    for entry in read_files_index(layout, trust=trust) or ():
        found = _KEPT.fullmatch(entry.path)
        if found is None or _DERIVED.fullmatch(entry.path) or found["job"] in trust.begun_since:
            continue
        if not trust.is_whole(layout, entry.path, entry.seal):
            yield entry


def iter_files(layout: RunLayout) -> Iterator[IndexedFile]:
    """Yield the files of a run as they are now, by path."""
    above = len(os.path.join(layout.path, ""))  # noqa: PTH118 - as are the paths
    for path in _walk(layout):
        try:
            size, digest = _measure(path)
        except FileNotFoundError:
            continue  # a job that is still going on replaced it
        yield IndexedFile(path[above:], size, digest)


def iter_paths(layout: RunLayout) -> Iterator[Path]:
    """Yield the paths of a run's files, by name within each folder.

    Left out are the index, the lock, temporary files, what was set aside, and what goes on after the index is written: journals and log.
    """
    return map(Path, _walk(layout))


def _walk(layout: RunLayout) -> Iterator[str]:
    """Yield the same as text: a run may have a million files."""
    top = str(layout.path)
    left_out = {str(path) for path in (layout.files_index, layout.lock, layout.run_log, *layout.journals())}
    for folder, folders, names in os.walk(top):
        if folder == top and layout.lost_and_found.name in folders:
            folders.remove(layout.lost_and_found.name)
        folders.sort()
        for name in sorted(names):
            path = os.path.join(folder, name)  # noqa: PTH118 - see above
            if path not in left_out and not name.endswith(files.TEMPORARY_SUFFIX) and os.path.isfile(path):  # noqa: PTH113
                yield path


def read_files_index(layout: RunLayout, *, trust: Trust | None = None) -> list[IndexedFile] | None:
    """Return the index as it was written; None when there is none that can be read, or with `trust` none that the journal knows."""
    if trust is not None and not is_index_known(layout, trust=trust):
        return None
    try:
        return [IndexedFile(**entry) for entry in json.loads(layout.files_index.read_bytes())["files"]]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def is_index_known(layout: RunLayout, *, trust: Trust) -> bool:
    """Say whether the index is the one that the journal vouches for; of a run whose journal names none, any is."""
    return trust.index is None or seal_of(layout.files_index) == trust.index


def differences(layout: RunLayout, listed: Iterable[IndexedFile]) -> Mapping[str, str]:
    """Return in which way every path differs from the index: `is gone`, `is not listed`, `has changed`."""
    before = {entry.path: entry for entry in listed}
    now = {entry.path: entry for entry in iter_files(layout)}
    return {
        path: "is gone" if path not in now else "is not listed" if path not in before else "has changed"
        for path in sorted(before.keys() | now.keys())
        if before.get(path) != now.get(path)
    }


def _index_lines(entries: Iterable[IndexedFile]) -> Iterator[bytes]:
    yield b'{\n  "files": [\n'
    separator = b"    "
    for entry in entries:
        line = json.dumps({"path": entry.path, "size": entry.size, "sha256": entry.sha256})
        yield separator + line.encode()
        separator = b",\n    "
    yield b"\n  ]\n}\n"


def _measure(path: str) -> tuple[int, str]:
    digest = hashlib.sha256()
    size = 0
    with open(path, "rb", buffering=0) as content:  # noqa: PTH123 - see `_walk`
        while chunk := content.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()
