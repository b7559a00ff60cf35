"""Two texts side by side, line by line; the cells are text, and whoever draws them must leave them text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

LONGEST = 2000
"""Lines and characters of a line that are compared."""
CONTEXT = 3
Kind = Literal["same", "changed", "removed", "added", "skipped"]


class Side(NamedTuple):
    """One line of the comparison; a number is None where its text has no such line."""

    kind: Kind
    left_number: int | None
    left: str
    right_number: int | None
    right: str


def as_text(value: Any) -> str:
    """Return a parameter's value as people read it."""
    return value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)


def side_by_side(before: str, after: str) -> list[Side]:
    """Return two texts side by side; runs of equal lines are cut to a few around what changed."""
    left, right = _lines(before), _lines(after)
    rows: list[Side] = []
    for tag, a, b, c, d in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            rows += _equal(left, a, b, c, first=not rows, last=b == len(left))
        else:
            rows += _changed(left[a:b], right[c:d], a, c)
    return rows


def _lines(text: str) -> list[str]:
    return [line[:LONGEST] for line in text.splitlines()[:LONGEST]]


def _equal(left: list[str], start: int, end: int, other: int, *, first: bool, last: bool) -> Iterator[Side]:
    size = end - start
    head, tail = (0 if first else CONTEXT), (0 if last else CONTEXT)
    if first and last:
        head = size
    for i in range(size):
        if head <= i < size - tail and size > head + tail + 1:
            if i == head:
                yield Side("skipped", None, f"{size - head - tail} equal lines", None, "")
            continue
        yield Side("same", start + i + 1, left[start + i], other + i + 1, left[start + i])


def _changed(left: list[str], right: list[str], at: int, to: int) -> Iterator[Side]:
    for i in range(max(len(left), len(right))):
        has_left, has_right = i < len(left), i < len(right)
        kind: Kind = "changed" if has_left and has_right else "removed" if has_left else "added"
        yield Side(
            kind,
            at + i + 1 if has_left else None,
            left[i] if has_left else "",
            to + i + 1 if has_right else None,
            right[i] if has_right else "",
        )
