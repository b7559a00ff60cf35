"""A snapshot: the files of one revision, in memory, read from git's objects or from a folder without a repository."""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from tracebench_autoresearch.sources.git import git, is_repository, resolve
from tracebench_core.errors import UsageError, quoted

MOST_FILES = 8000
MOST_BYTES = 64 << 20
_SKIPPED = frozenset({".git", "__pycache__", ".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache"})
_LINK, _MODULE, _PLAIN, _PROGRAM = "120000", "160000", "100644", "100755"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Entry:
    """One file: git's mode, and its content; of a link, its target."""

    mode: str
    data: bytes

    @property
    def text(self) -> str | None:
        """The content as text; None when it is none, or no ordinary file."""
        if self.mode != _PLAIN or b"\0" in self.data:
            return None
        try:
            return self.data.decode()
        except UnicodeDecodeError:
            return None


@dataclass(frozen=True)
class Snapshot:
    """All files of a revision by POSIX path."""

    revision: str
    """A commit's id, or `sha256:…` of a folder."""
    entries: dict[str, Entry]

    @cached_property
    def texts(self) -> dict[str, str]:
        """The ordinary text files."""
        return {path: words for path, entry in self.entries.items() if (words := entry.text) is not None}

    def without(self, patterns: tuple[str, ...]) -> Snapshot:
        """Return it less the files that match."""
        left = {p: e for p, e in self.entries.items() if not matches(p, patterns)}
        return Snapshot(self.revision, left)

    def with_files(self, more: dict[str, Entry]) -> Snapshot:
        """Return it with more files, which replace those of the same paths."""
        return Snapshot(self.revision, self.entries | more)


def matches(path: str, patterns: tuple[str, ...]) -> bool:
    """Say whether a path matches one of the globs; `*` also matches across folders."""
    return any(fnmatchcase(path, pattern) for pattern in patterns)


def take_snapshot(folder: Path, revision: str | None, *, guarded: tuple[str, ...] = ()) -> Snapshot:
    """Read a folder, or of a repository one revision.

    `guarded` are the globs that must have no uncommitted change where the revision is left open.

    Raises:
        UsageError: when there is nothing to read, it is too large, has submodules, or is in a state that nobody can name.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"`{folder}` is no folder.", hint=f"ls {quoted(folder.parent)}")
    if not folder.is_dir():
        raise UsageError(f"The repository `{folder}` does not exist.", hint=f"ls {quoted(folder.parent)}")
    if not is_repository(folder):
        if revision is not None:
            raise UsageError(f"`{folder}` is no git repository, so it has no revision `{revision}`.")
        return _read_folder(folder)
    if revision is None:
        _demand_clean(folder, guarded)
    return _read_revision(folder, resolve(folder, revision or "HEAD"))


def _demand_clean(folder: Path, guarded: tuple[str, ...]) -> None:
    if not (folder / ".git").exists():
        return
    changed = [line[3:] for line in git(folder, "status", "--porcelain", "-z", "-uno").decode().split("\0") if line]
    if dirty := [path for path in changed if matches(path, guarded)]:
        raise UsageError(
            f"`{folder}` has uncommitted changes in `{dirty[0]}`, which is edited: commit them, or name a `revision`.",
            hint=f"git -C {quoted(folder)} status",
        )
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        log.warning("`%s` has uncommitted changes in `%s`%s: what is committed is measured", folder, changed[0], more)


def _read_revision(folder: Path, commit: str) -> Snapshot:
    listed = [
        line for line in git(folder, "ls-tree", "-r", "-l", "-z", commit).decode(errors="replace").split("\0") if line
    ]
    rows = [(*line.split("\t", 1)[0].split(), line.split("\t", 1)[1]) for line in listed]
    if modules := [row[4] for row in rows if row[0] == _MODULE]:
        raise UsageError(f"`{folder}` has the submodule `{modules[0]}`, which an experiment cannot hold.")
    _demand_size(folder, len(rows), sum(int(row[3]) for row in rows))
    asked = "".join(f"{row[2]}\n" for row in rows).encode()
    contents = _blobs(git(folder, "cat-file", "--batch", stdin=asked)) if rows else iter(())
    return Snapshot(commit, {row[4]: Entry(row[0], data) for row, data in zip(rows, contents, strict=True)})


def _blobs(batch: bytes) -> Iterator[bytes]:
    place = 0
    while place < len(batch):
        head, _, _ = batch[place : place + 200].partition(b"\n")
        size = int(head.split()[2])
        begin = place + len(head) + 1
        yield batch[begin : begin + size]
        place = begin + size + 1


def _read_folder(folder: Path) -> Snapshot:
    paths = sorted(_walk(folder))
    _demand_size(folder, len(paths), sum(p.stat(follow_symlinks=False).st_size for p in paths))
    entries = {p.relative_to(folder).as_posix(): read_entry(p) for p in paths}
    digest = hashlib.sha256()
    for path, entry in entries.items():
        digest.update(f"{entry.mode} {path}\0{len(entry.data)}\0".encode() + entry.data)
    return Snapshot(f"sha256:{digest.hexdigest()}", entries)


def read_entry(path: Path) -> Entry:
    """Read one file of a working folder; a link is not followed."""
    if path.is_symlink():
        return Entry(_LINK, os.fsencode(path.readlink()))
    return Entry(_PROGRAM if os.access(path, os.X_OK) else _PLAIN, path.read_bytes())


def _walk(folder: Path) -> Iterator[Path]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name not in _SKIPPED]
        yield from (
            Path(place, name) for name in files if Path(place, name).is_file() or Path(place, name).is_symlink()
        )


def _demand_size(folder: Path, files: int, size: int) -> None:
    if files > MOST_FILES or size > MOST_BYTES:
        raise UsageError(
            f"`{folder}` has {files} files of {size >> 20} MB; an experiment holds at most {MOST_FILES} files of {MOST_BYTES >> 20} MB.",
            hint="keep data out of the repository and make it in `prepare`, or point `repo` to a part of it",
        )


def write_files(snapshot: Snapshot, folder: Path) -> None:
    """Write a snapshot into an empty folder."""
    for path, entry in snapshot.entries.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if entry.mode == _LINK:
            place.symlink_to(entry.data.decode())
        else:
            place.write_bytes(entry.data)
            place.chmod(0o755 if entry.mode == _PROGRAM else 0o644)
