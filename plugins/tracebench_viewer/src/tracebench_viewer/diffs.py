"""Two texts side by side, line by line and word by word; the cells are text, and whoever draws them must leave them text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any, Literal, NamedTuple

LONGEST = 2000
"""Lines and characters of a line that are compared."""
CONTEXT = 3
MOST_WORDS = 400
"""Words of a line that are compared with those of another; of more the lines are marked whole."""
ALIKE = 0.3
"""Share of their letters that two lines have in common, at the least, for their words to be compared: else every other word is marked."""
_WORDS = re.compile(r"\w+(?:\.\w+)*|\s+|[^\w\s]")
Spans = tuple[tuple[int, int], ...]
Kind = Literal["same", "changed", "removed", "added", "skipped"]


class Side(NamedTuple):
    """One line of the comparison; a number is None where its text has no such line."""

    kind: Kind
    left_number: int | None
    left: str
    right_number: int | None
    right: str
    left_words: Spans = ()
    """Where the words begin and end that only the left one has, in Unicode characters; none where all of a line is other."""
    right_words: Spans = ()


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
        words = _by_word(left[i], right[i]) if kind == "changed" else ((), ())
        yield Side(
            kind,
            at + i + 1 if has_left else None,
            left[i] if has_left else "",
            to + i + 1 if has_right else None,
            right[i] if has_right else "",
            *words,
        )


def _by_word(left: str, right: str) -> tuple[Spans, Spans]:
    """Return where the words are that only one of two lines has; nothing where the lines have too little in common, or are too long."""
    one, other = _WORDS.findall(left), _WORDS.findall(right)
    if len(one) + len(other) > MOST_WORDS:
        return (), ()
    changes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    same = sum(len("".join(one[a:b])) for kind, a, b, _, _ in changes if kind == "equal")
    if same < ALIKE * max(len(left), len(right)):
        return (), ()
    return (
        tuple(_span(one, a, b) for kind, a, b, _, _ in changes if kind in {"replace", "delete"}),
        tuple(_span(other, c, d) for kind, _, _, c, d in changes if kind in {"replace", "insert"}),
    )


def _span(words: list[str], start: int, end: int) -> tuple[int, int]:
    begin = sum(map(len, words[:start]))
    return begin, begin + sum(map(len, words[start:end]))
