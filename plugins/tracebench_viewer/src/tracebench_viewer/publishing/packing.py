"""A page's data as text that stands in the page: JSON, compressed, with each line of a text kept once."""

from __future__ import annotations

import base64
import gzip
import json
import math
from collections.abc import Sequence
from typing import Any

from tracebench_viewer.diffs import Side

KINDS = ("same", "changed", "removed", "added", "skipped")


def packed(data: Any) -> str:
    """Return data as Base64 of compressed JSON; equal data give equal text."""
    text = json.dumps(_finite(data), ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), 9, mtime=0)).decode()


class Lines:
    """The lines of many texts that are much alike: each is kept once, and texts are numbers of lines."""

    def __init__(self) -> None:
        self.kept: list[str] = []
        self._known: dict[str, int] = {}

    def of(self, text: str) -> list[int]:
        """Return a text as the numbers of its lines."""
        return [self._number(line) for line in text.split("\n")]

    def diff(self, rows: Sequence[Side]) -> list[list[Any]]:
        """Return two texts side by side with lines as numbers, -1 for one that is not there; words that changed stand last, if any."""
        return [
            [
                KINDS.index(row.kind), row.left_number, self._or_none(row.left), row.right_number, self._or_none(row.right),
                *([row.left_words, row.right_words] if row.left_words or row.right_words else []),
            ]
            for row in rows
        ]  # fmt: skip

    def _or_none(self, line: str) -> int:
        return self._number(line) if line else -1

    def _number(self, line: str) -> int:
        found = self._known.setdefault(line, len(self.kept))
        if found == len(self.kept):
            self.kept.append(line)
        return found


def _finite(value: Any) -> Any:
    """Return data without what JSON in a browser cannot hold: what is no number is nothing."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): _finite(inner) for name, inner in value.items()}
    return [_finite(inner) for inner in value] if isinstance(value, list | tuple) else value
