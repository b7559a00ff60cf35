"""One digest over many texts (RFC 9162, 2.1.1): none of them can be changed, dropped, added or moved without changing it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

LEAF, NODE = b"\x00", b"\x01"
"""What is hashed with a text and with two digests, so that neither passes for the other."""


def head_of(texts: Sequence[bytes]) -> str:
    """Return the Merkle tree hash of texts in their order, 64 hexadecimal digits; of none, the SHA-256 of nothing."""
    if not texts:
        return hashlib.sha256().hexdigest()
    row = [hashlib.sha256(LEAF + text).digest() for text in texts]
    while len(row) > 1:
        pairs = [hashlib.sha256(NODE + row[i] + row[i + 1]).digest() for i in range(0, len(row) - 1, 2)]
        row = pairs + row[len(pairs) * 2 :]
    return row[0].hex()
