"""A table in a number of characters: what does not fit is left out by its worth, then wrapped at words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

GAP = "  "
NARROWEST = 6
"""Characters that a wrapped cell keeps."""
NUMBER = re.compile(r"^[-+]?[\d.,]+(e[-+]?\d+)?( ?%|/\d+)?$")
UNKNOWN = frozenset({"", "-", "unknown"})


class Layout(NamedTuple):
    """A table as lines, and the columns that did not fit."""

    lines: list[str]
    left_out: list[str]
    same: dict[str, str]
    """What the columns hold that were left out because every row has the same."""


def laid_out(cells: Sequence[Sequence[str]], *, width: int, least: Sequence[str] = ()) -> Layout:
    """Lay a table out, headers first, in `width` characters.

    Columns that do not fit are left out: those that say the same in every row, then those of `least`, then from the right, but of these
    never the first two. What is still too wide goes on below, from a word on, and where even its words are too wide for their columns, the
    first column gets lines of its own; only a word that is wider than the whole table is broken.
    """
    columns = [list(column) for column in zip(*cells, strict=True)]
    left_out = []
    same = {column[0]: column[1] for column in columns if len(cells) > 2 and len({*column[1:]}) == 1}  # noqa: PLR2004 - a header and rows
    order = [name for name in (*least, *reversed(cells[0])) if name in same]
    order += [name for name in least if name in cells[0] and name not in order]
    order = list(dict.fromkeys([*order, *reversed(cells[0][2:])]))
    while _width(columns) > width and order and len(columns) > 1:
        name = order.pop(0)
        left_out.append(name)
        columns = [column for column in columns if column[0] != name]
    told = [name for name in cells[0] if name in left_out]
    floors = [max(cells_of(word) for text in column for word in text.split(" ")) for column in columns]
    if len(columns) > 1 and sum(floors) + len(GAP) * (len(columns) - 1) > width:
        return Layout(_below(columns, width), told, {name: same[name] for name in told if name in same})
    widths = _narrowed([max(map(cells_of, column)) for column in columns], floors, width)
    numbers = [_is_number(column) for column in columns]
    lines = []
    for row in zip(*columns, strict=True):
        parts = [wrapped(text, wide) for text, wide in zip(row, widths, strict=True)]
        for i in range(max(map(len, parts))):
            shown = [part[i] if i < len(part) else "" for part in parts]
            padded = (_padded(*cell) for cell in zip(shown, widths, numbers, strict=True))
            lines.append(GAP.join(padded).rstrip())
    return Layout(lines, told, {name: same[name] for name in told if name in same})


def one_line(cells: Sequence[Sequence[str]], *, width: int, least: Sequence[str] = ()) -> list[str]:
    """Lay a table out with a line a row whatever its width: what does not fit by then is cut, which a view that moves may do."""
    wide = [max(map(cells_of, column)) for column in zip(*cells, strict=True)][:2]
    room = max(NARROWEST, width - sum(wide[1:]) - len(GAP))
    first = [row[0] if cells_of(row[0]) <= room else f"{_head(row[0], room - 1)}…" for row in cells]
    return laid_out([[head, *row[1:]] for head, row in zip(first, cells, strict=True)], width=width, least=least).lines


def wrapped(text: str, width: int) -> list[str]:
    """Return a text as lines of at most `width` characters, each but the first from a word on; a word that is wider is broken."""
    lines, line = [], ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cells_of(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        line = word
        while cells_of(line) > width:
            head = _head(line, width)
            lines.append(head)
            line = line[len(head) :]
    return [*lines, line]


def cells_of(text: str) -> int:
    """Return how many characters wide a terminal shows a text."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _width(columns: Collection[Sequence[str]]) -> int:
    return sum(max(map(cells_of, column)) for column in columns) + len(GAP) * (len(columns) - 1)


def _narrowed(widths: list[int], floors: Sequence[int], limit: int) -> list[int]:
    """Return widths that fit together: the widest gives a character at a time, none less than its longest word."""
    room = limit - len(GAP) * (len(widths) - 1)
    while sum(widths) > room and (free := [i for i, wide in enumerate(widths) if wide > floors[i]]):
        widths[max(free, key=lambda i: widths[i])] -= 1
    return widths


def _below(columns: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return each row as its first cell and, below it and further in, the others."""
    lines = []
    for first, *others in zip(*columns, strict=True):
        lines += wrapped(first, width)
        rest = wrapped(GAP.join(filter(None, others)), max(1, width - 2 * len(GAP)))
        lines += [f"{2 * GAP}{line}" for line in rest if line]
    return lines


def _is_number(column: Iterable[str]) -> bool:
    body = [text for text in [*column][1:] if text not in UNKNOWN]
    return bool(body) and all(NUMBER.match(text) for text in body)


def _padded(text: str, width: int, is_number: bool) -> str:  # noqa: FBT001 - it comes from a row of cells
    padding = " " * (width - cells_of(text))
    return padding + text if is_number else text + padding


def _head(text: str, width: int) -> str:
    """Return the longest beginning that fits, of a character at least."""
    end = len(text)
    while end > 1 and cells_of(text[:end]) > width:
        end -= 1
    return text[:end]
