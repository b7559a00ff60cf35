"""Identifiers: canonical JSON, content hashes, job and run ids, and the nearest valid name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from typing import Any

_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical_json(value: Any) -> bytes:
    """Return the one JSON text of `value`: sorted keys, no spaces, UTF-8, NaN refused (after RFC 8785)."""
    return _CANONICAL.encode(value).encode()


def content_hash(data: bytes) -> str:
    """Return the SHA-256 of `data` as 64 hex digits."""
    return hashlib.sha256(data).hexdigest()


def suite_of(task_id: str) -> str:
    """Return the suite of a full task id, as one name that may be a folder's."""
    return task_id.partition(":")[0].rpartition("/")[2]


def run_id(started: datetime, digest: str) -> str:
    """Return `YYYYMMDD-HHMMSS-<hash8>` for a UTC start time and a config digest."""
    return f"{started:%Y%m%d-%H%M%S}-{digest[:8]}"


def derive_seed(seed: int, *purpose: str | int) -> int:
    """Return a 63-bit seed that depends on `seed` and on what it is for, and on nothing else."""
    digest = hashlib.sha256(canonical_json([seed, *purpose])).digest()
    return int.from_bytes(digest[:8], "big") >> 1


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` was most likely meant to be, or None."""
    by_folded = {k.casefold(): k for k in known}
    matches = get_close_matches(name.casefold(), by_folded, n=1, cutoff=0.6)
    return by_folded[matches[0]] if matches else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the sentence ` Did you mean `x`?` (with its leading space), or nothing."""
    match = nearest(name, known)
    return f" Did you mean `{match}`?" if match else ""
