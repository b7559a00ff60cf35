"""The form of a journal's lines: each vouches for itself, names the line before it, and is keyed.

A line ends with `prev`, the digest of the line before, `mac`, the keyed sum of all that stands before it, and `sum`, with which the
line's own digest begins. Journals of older versions have no `prev` and `mac`, the oldest no `sum`.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from typing import Any

START = "0" * 64
"""In the place of a digest before the first line."""
MAC_DIGITS = 32
_PREV, _MAC, _SUM = b',"prev":"', b',"mac":"', b',"sum":"'
_SUM_DIGITS = 16
_END_DIGITS = len(_SUM) + _SUM_DIGITS + len(b'"}')
_MAC_LENGTH = len(_MAC) + MAC_DIGITS + 1
_PREV_LENGTH = len(_PREV) + len(START) + 1


def encode(record: Mapping[str, Any], *, before: str | None = None, key: bytes = b"") -> bytes:
    """Return a record as a line that vouches for itself; with `before`, the digest of the line before, one that is chained and keyed."""
    plain = json.dumps(record, separators=(",", ":")).encode()[:-1]
    if before is not None:
        plain += _PREV + before.encode() + b'"'
        plain += _MAC + _mac_of(plain, key).encode() + b'"'
    return plain + _SUM + sum_of(plain).encode() + b'"}'


def has_sum(line: bytes) -> bool:
    """Say whether a line claims to vouch for itself."""
    return _SUM in line


def is_sound(line: bytes) -> bool:
    """Say whether a line is as it was written, as far as it says itself."""
    plain, end = line[:-_END_DIGITS], line[-_END_DIGITS:]
    return end.startswith(_SUM) and end == _SUM + sum_of(plain).encode() + b'"}'


def is_cut(line: bytes, number: int) -> bool:
    """Say whether a line that is not sound can be the beginning of the one with this number, which a crash cut short."""
    begins = f'{{"n":{number},'.encode()
    return not line.endswith(b'"}') and (line.startswith(begins) or begins.startswith(line))


def sum_of(plain: bytes) -> str:
    """Return the sum of a line, of which `plain` is what stands before it."""
    return digest_before_sum(plain)[:_SUM_DIGITS]


def digest_before_sum(plain: bytes) -> str:
    """Return the digest of a line, of which `plain` is what stands before its sum: SHA-256, 64 hex digits."""
    return hashlib.sha256(plain + b"}").hexdigest()


def digest_of(line: bytes) -> str:
    """Return the digest of a line that has a sum, without its newline."""
    return digest_before_sum(line[:-_END_DIGITS])


def sum_at(line: bytes) -> str:
    """Return the sum that a sound line ends with."""
    return line[-_END_DIGITS + len(_SUM) : -len(b'"}')].decode("latin-1")


def prev_of(line: bytes) -> str | None:
    """Return the digest that a sound line gives for the line before it; None for a line of no chain."""
    plain = line[: -_END_DIGITS - _MAC_LENGTH]
    end = plain[-_PREV_LENGTH:]
    is_chained = line[len(plain) :].startswith(_MAC) and end.startswith(_PREV) and end.endswith(b'"')
    return end[len(_PREV) : -1].decode("latin-1") if is_chained else None


def is_keyed_by(line: bytes, key: bytes) -> bool:
    """Say whether a sound line of a chain was written by who had the key."""
    plain = line[: -_END_DIGITS - _MAC_LENGTH]
    told = line[len(plain) + len(_MAC) : len(plain) + len(_MAC) + MAC_DIGITS]
    return hmac.compare_digest(told, _mac_of(plain, key).encode())


def number_of(record: Any) -> int | None:  # JSON as it was read
    """Return the number of a record; None where it has none that a journal can have given."""
    number = record.get("n") if isinstance(record, dict) else None
    return number if type(number) is int and number >= 0 else None


def parsed(line: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the record that a line is, whether or not it vouches for itself; nothing where it is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return
    if isinstance(record, dict):
        yield record


def _mac_of(plain: bytes, key: bytes) -> str:
    return hmac.digest(key, plain, "sha256").hex()[:MAC_DIGITS]
