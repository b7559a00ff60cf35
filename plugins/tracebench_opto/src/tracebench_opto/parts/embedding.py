"""A local embedding of candidates: hashed character trigrams, no model and no network."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence

from tracebench_core.ids import canonical_json
from tracebench_core.specs import Values

Embedding = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts to vectors of one length."""

DIMENSIONS = 256
GRAM = 3


def embed_lexically(texts: Sequence[str]) -> list[list[float]]:
    """Return a unit vector of trigram counts per text, hashed by CRC-32; texts that share no trigram are sqrt(2) apart."""
    return [_embed(text) for text in texts]


def describe_values(values: Values) -> str:
    """Return the text of a candidate that is embedded: its values as canonical JSON."""
    return canonical_json(values).decode()


def distance(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the Euclidean distance."""
    return math.dist(a, b)


def _embed(text: str) -> list[float]:
    vector = [0.0] * DIMENSIONS
    padded = f"^{text}$"
    for start in range(max(len(padded) - GRAM + 1, 1)):
        vector[zlib.crc32(padded[start : start + GRAM].encode()) % DIMENSIONS] += 1.0
    length = math.sqrt(math.fsum(x * x for x in vector)) or 1.0
    return [x / length for x in vector]
