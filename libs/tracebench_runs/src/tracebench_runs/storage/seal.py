"""How long a file was and what its bytes hashed to: what the journal keeps of the files that nothing can rebuild."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_runs.storage.regular import open_regular

_CHUNK = 1 << 20


class Seal(NamedTuple):
    """Size and SHA-256 of a whole file, or of its first `size` bytes where it grows."""

    size: int
    sha256: str

    def as_json(self) -> list[Any]:
        """Return the seal as the journal writes it."""
        return [self.size, self.sha256]

    @classmethod
    def from_json(cls, data: Any) -> Seal | None:  # JSON as it was read
        """Return the seal that was read, None for what is none."""
        match data:
            case [int(size), str(digest)]:
                return cls(size, digest)
            case _:
                return None


def seal_of(path: Path, *, size: int | None = None) -> Seal | None:
    """Seal a file, or its first `size` bytes; None when it is missing or shorter than that."""
    digest, left = hashlib.sha256(), size
    done = 0
    try:
        with open_regular(path) as content:
            while left != 0 and (chunk := content.read(_CHUNK if left is None else min(_CHUNK, left))):
                digest.update(chunk)
                done += len(chunk)
                left = None if left is None else left - len(chunk)
    except OSError:
        return None
    return None if left else Seal(done, digest.hexdigest())


class GrowingFile:
    """Seals a file of lines again and again, each time reading only what has come since."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._digest = hashlib.sha256()
        self._size = 0

    def seal(self) -> Seal | None:
        """Return the seal of all complete lines so far; None when there is none."""
        try:
            with open_regular(self.path) as content:
                content.seek(self._size)
                new = content.read()
        except FileNotFoundError:
            return None
        whole = new[: new.rfind(b"\n") + 1]
        self._digest.update(whole)
        self._size += len(whole)
        return Seal(self._size, self._digest.hexdigest()) if self._size else None
