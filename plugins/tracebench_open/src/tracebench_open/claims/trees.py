"""Other people's files, read from clones at the commit that is pinned and held to their SHA-256: nothing of them is copied or imported."""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from tracebench_core.errors import UsageError, quoted

PATIENCE = 300.0


class Source(BaseModel):
    """A repository at a commit, and the files of it that are read."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    repository: str = Field(pattern=r"^[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+$")
    commit: str = Field(pattern=r"^[0-9a-f]{40}$")
    licence: str
    files: dict[str, str] = {}
    """SHA-256 by path."""
    folders: dict[str, str] = {}
    """By path of a folder, the SHA-256 of a line `SHA-256  PATH` for each file under it, in the order of the paths."""


class AbsentError(UsageError):
    """A tree is not there, so that what follows from it cannot be asked."""


class WrongError(UsageError):
    """A file is not the one that is pinned."""


class Trees:
    """Reads pinned files of clones, which lie in `root` as `OWNER+NAME`, bare or not."""

    def __init__(self, root: Path, sources: Mapping[str, Source]) -> None:
        self._root, self._sources = root, sources

    def text(self, source: str, path: str) -> str:
        """Return a file.

        Raises:
            AbsentError: there is no clone, or it lacks the commit.
            WrongError: the file is not the one that is pinned.
        """
        found = self._sources[source]
        data = self._git(found, "show", f"{found.commit}:{path}")
        _hold(found, path, hashlib.sha256(data).hexdigest(), found.files[path])
        return data.decode()

    def texts(self, source: str, *, under: str, end: str = "") -> dict[str, str]:
        """Return by path what `under` starts with and `end` ends with, of the files that are pinned one by one."""
        paths = [path for path in self._sources[source].files if path.startswith(under) and path.endswith(end)]
        return {path: self.text(source, path) for path in paths}

    def folder(self, source: str, path: str) -> dict[str, str]:
        """Return every text under a folder that is pinned as a whole; what is no UTF-8 is held to the pin and left out.

        Raises:
            AbsentError, WrongError: as `text` does.
        """
        found = self._sources[source]
        files = dict(self._every(found, path))
        told = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
        _hold(found, path, hashlib.sha256(told.encode()).hexdigest(), found.folders[path])
        return {name: text for name, data in files.items() if (text := _decoded(data)) is not None}

    def _every(self, source: Source, path: str) -> Iterator[tuple[str, bytes]]:
        listed = self._git(source, "ls-tree", "-r", "-z", source.commit, "--", path).decode().split("\0")
        rows = [line.partition("\t") for line in listed if line]
        asked = "".join(f"{head.split()[2]}\n" for head, _, _ in rows)
        told, at = self._git(source, "cat-file", "--batch", stdin=asked.encode()), 0
        for _, _, name in rows:
            end = told.index(b"\n", at)
            head = told[at:end].split()
            if head[-1] == b"missing":
                raise AbsentError(f"The clone of {source.repository} lacks `{name}`.", hint="fetch it whole")
            size = int(head[2])
            yield name, told[end + 1 : end + 1 + size]
            at = end + size + 2

    def _git(self, source: Source, *words: str, stdin: bytes = b"") -> bytes:
        clone = self._root / source.repository.replace("/", "+")
        hint = f"git clone https://github.com/{source.repository} {quoted(clone)}"
        if not clone.is_dir():
            raise AbsentError(f"There is no clone of {source.repository} in `{self._root}`.", hint=hint)
        argv = ["git", "-c", "safe.directory=*", "-C", str(clone), *words]
        done = subprocess.run(argv, input=stdin, capture_output=True, timeout=PATIENCE, check=False)  # noqa: S603 - reads alone
        if done.returncode:
            raise AbsentError(
                f"The clone of {source.repository} does not show {words[-1]}: {done.stderr.decode(errors='replace').strip()[:300]}",
                hint=f"git -C {quoted(clone)} fetch origin {source.commit}",
            )
        return done.stdout


def _decoded(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _hold(source: Source, path: str, found: str, pinned: str) -> None:
    if found != pinned:
        raise WrongError(
            f"`{path}` of {source.repository} at {source.commit[:12]} has the SHA-256 {found}, and not {pinned}.",
            hint="clone it anew",
        )
