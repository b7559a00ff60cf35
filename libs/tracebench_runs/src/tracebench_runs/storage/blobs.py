"""Large values by their content: each is stored once, compressed, under the SHA-256 of its plain bytes."""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from pathlib import Path

from pydantic import JsonValue

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_core.specs import Values
from tracebench_runs.storage import files
from tracebench_runs.storage.regular import read_whole

INLINE_BYTES = 2048
"""A value whose JSON text is longer than this goes to a blob."""
_SMALL = bool | int | float | None
_DIGEST = re.compile(r"[0-9a-f]{64}")


class BlobStore:
    """Blobs under `<folder>/<first two digits>/<sha256>`, zlib-compressed (RFC 1950)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: set[str] = set()
        self._unsynced: list[Path] = []

    def path(self, digest: str) -> Path:
        """Return where a blob lies."""
        return self.folder / digest[:2] / digest

    def put(self, data: bytes) -> str:
        """Store `data` unless it is there, and return its SHA-256. It survives a power cut only after `sync`.

        A blob of an earlier process is read back before it counts as there: a power cut may have emptied it.
        """
        digest = content_hash(data)
        if digest not in self._known:
            path = self.path(digest)
            if not self._holds(digest):
                files.make_dir(path.parent)
                files.write_whole(path, zlib.compress(data, 1))
            self._known.add(digest)
            self._unsynced.append(path)
        return digest

    def get(self, digest: str) -> bytes:
        """Return the bytes of a blob.

        Raises:
            RunDirError: when the blob is missing or its content is not what its name says.
        """
        path = self.path(digest)
        try:
            data = zlib.decompress(read_whole(path))
        except (OSError, zlib.error) as err:
            raise RunDirError(f"blob `{digest}` of `{self.folder}` cannot be read: {err}") from err
        if content_hash(data) != digest:
            raise RunDirError(f"blob `{digest}` of `{self.folder}` holds something else")
        return data

    def sync(self) -> None:
        """Make every blob put through this object survive a power cut."""
        folders = {path.parent for path in self._unsynced}
        for path in self._unsynced:
            files.sync_file(path)
        for folder in sorted(folders):
            files.sync_folder(folder)
        if folders:
            files.sync_folder(self.folder)
            files.sync_folder(self.folder.parent)
        self._unsynced.clear()

    def shrink(self, values: Mapping[str, JsonValue]) -> Values:
        """Replace every value of more than 2 kB by `{"blob": sha256}`; shrinking twice changes nothing.

        A value that only looks like such a reference is stored as a blob too, so that `expand` is exact.
        """
        return {name: self._shrink(value) for name, value in values.items()}

    def expand(self, values: Mapping[str, JsonValue]) -> Values:
        """Undo `shrink`."""
        return {name: self._expand(value) for name, value in values.items()}

    def _holds(self, digest: str) -> bool:
        try:
            self.get(digest)
        except RunDirError:
            return False
        return True

    def _shrink(self, value: JsonValue) -> JsonValue:
        if isinstance(value, _SMALL):
            return value
        digest = reference(value)
        if digest is not None and self.path(digest).exists():
            return value
        data = json.dumps(value).encode()  # ASCII, so that any string at all survives
        if len(data) <= INLINE_BYTES and digest is None:
            return value
        return {"blob": self.put(data)}

    def _expand(self, value: JsonValue) -> JsonValue:
        digest = reference(value)
        if digest is None:
            return value
        expanded: JsonValue = json.loads(self.get(digest))
        return expanded


def reference(value: JsonValue) -> str | None:
    """Return the SHA-256 that a value refers to, or None when it is no reference."""
    if isinstance(value, dict) and value.keys() == {"blob"}:
        digest = value["blob"]
        if isinstance(digest, str) and _DIGEST.fullmatch(digest):
            return digest
    return None
