"""The end records of a run by job, each in a fifth of the memory that its objects take: a run may have 100,000."""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from typing import get_args

from tracebench_core.specs import JobStatus
from tracebench_runs.journal.journal import EndRecord
from tracebench_runs.storage.seal import Seal

_STATUSES: tuple[JobStatus, ...] = get_args(JobStatus)
_DIGEST = 32
"""Bytes of a SHA-256."""
_SIZE = 8
"""Bytes of a status and a size."""


class Ends(MutableMapping[str, EndRecord]):
    """Behaves as a dict of end records by job; what it gives is equal to what was put in."""

    def __init__(self) -> None:
        self._kept: dict[str, EndRecord | bytes] = {}

    def __getitem__(self, job_id: str) -> EndRecord:
        kept = self._kept[job_id]
        if isinstance(kept, EndRecord):
            return kept
        parts = [kept[1:_SIZE], kept[_SIZE : _SIZE + _DIGEST], kept[_SIZE + _DIGEST :]]
        seal = Seal(int.from_bytes(parts[0], "big"), parts[2].hex())
        return EndRecord(job_id, _STATUSES[kept[0]], parts[1].hex(), seal)

    def __setitem__(self, job_id: str, end: EndRecord) -> None:
        self._kept[job_id] = _packed(end) if end.job_id == job_id else end

    def __delitem__(self, job_id: str) -> None:
        del self._kept[job_id]

    def clear(self) -> None:
        """Let go of all at once: one by one from its beginning, a dict of n takes the square of n steps."""
        self._kept.clear()

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)


def _packed(end: EndRecord) -> EndRecord | bytes:
    """Return status, size and both digests as bytes; a record that could not be given back as it was stays one."""
    seal = end.events
    if seal is None or not 0 <= seal.size < 1 << 8 * (_SIZE - 1):
        return end
    try:
        digests = [bytes.fromhex(text) for text in (end.digest, seal.sha256)]
    except ValueError:
        return end
    if any(len(d) != _DIGEST for d in digests) or [d.hex() for d in digests] != [end.digest, seal.sha256]:
        return end
    return b"".join([bytes([_STATUSES.index(end.status)]), seal.size.to_bytes(_SIZE - 1, "big"), *digests])
