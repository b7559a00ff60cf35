"""Content-addressed, compressed files: one per content, named by the SHA-256 of what is inside."""

from __future__ import annotations

import zlib
from pathlib import Path

from tracebench_core.errors import RunDirError
from tracebench_core.ids import content_hash
from tracebench_runs.storage import files


class Blobs:
    """A folder of blobs. Writing the same content again costs a lookup."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written: set[str] = set()

    def put(self, data: bytes) -> str:
        """Keep `data` and return its name. A crash leaves a whole blob or none."""
        name = content_hash(data)
        if name not in self._written:
            path = self._path(name)
            if not path.exists():
                files.make_dir(path.parent)
                files.write_whole(path, zlib.compress(data, 6))
            self._written.add(name)
        return name

    def get(self, name: str) -> bytes:
        """Return the content of a blob.

        Raises:
            RunDirError: when it is missing, truncated or edited.
        """
        path = self._path(name)
        try:
            data = zlib.decompress(path.read_bytes())
        except FileNotFoundError as err:
            raise RunDirError(f"the recording lacks the blob `{path}`") from err
        except zlib.error as err:
            raise RunDirError(f"the recorded blob `{path}` is truncated or damaged: {err}") from err
        if content_hash(data) != name:
            raise RunDirError(f"the recorded blob `{path}` was edited: its content does not match its name")
        return data

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name
