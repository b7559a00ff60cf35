"""Tables for terminals: the columns that are asked for, numbers to the right, and what fits into the width."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from tracebench_core.errors import UsageError
from tracebench_core.ids import nearest

GAP = "  "
NARROWEST = 6
"""Characters that a cut cell keeps."""
NUMBER = re.compile(r"^[-+]?[\d.,]+(e[-+]?\d+)?( ?%|/\d+)?$")
UNKNOWN = frozenset({"", "-", "unknown"})


class Layout(NamedTuple):
    """A table as lines, and the columns that did not fit."""

    lines: list[str]
    left_out: list[str]


def chosen(text: str | None, *tables: Sequence[str]) -> tuple[str, ...] | None:
    """Return the columns that `--columns a,b` names; None where it is not given.

    Raises:
        UsageError: one of them is in none of the tables, or no table has them all.
    """
    if text is None:
        return None
    known = list(dict.fromkeys(name for table in tables for name in table))
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    for name in names or ("",):
        if name not in known:
            guess = nearest(name, known)
            near = f" Did you mean `{guess}`?" if guess else ""
            raise UsageError(
                f"There is no column `{name}`.{near} There are: {', '.join(known)}.",
                hint=f"--columns '{guess or ','.join(known[:3])}'",
            )
    if not any({*names} <= {*table} for table in tables):
        raise UsageError(
            f"No table has all of {', '.join(f'`{name}`' for name in names)}. "
            f"Tables: {'; '.join(', '.join(table) for table in tables)}.",
            hint=f"--columns '{names[0]}'",
        )
    return names


def picked(cells: Sequence[Sequence[str]], columns: Sequence[str] | None) -> list[list[str]]:
    """Return a table, headers first, with the chosen columns in their order; the whole of it when none are chosen.

    Nothing is left of a table that has not all of them: it is another table that is meant.
    """
    if columns is None:
        return [list(row) for row in cells]
    places = [cells[0].index(name) for name in columns] if {*columns} <= {*cells[0]} else []
    return [[row[place] for place in places] for row in cells]


def laid_out(cells: Sequence[Sequence[str]], *, width: int, least: Sequence[str] = ()) -> Layout:
    """Lay a table out, headers first, in `width` characters.

    Columns that do not fit are left out, those of `least` first and then from the right, but never the first two. What is still too wide
    has its longest texts cut.
    """
    columns = [list(column) for column in zip(*cells, strict=True)]
    left_out = []
    order = [name for name in least if name in cells[0]]
    order += [name for name in reversed(cells[0][2:]) if name not in order]
    while _width(columns) > width and order:
        name = order.pop(0)
        left_out.append(name)
        columns = [column for column in columns if column[0] != name]
    widths = _cut([max(map(_cells, column)) for column in columns], width)
    aligned = [_aligned(column, wide) for column, wide in zip(columns, widths, strict=True)]
    lines = [GAP.join(row).rstrip() for row in zip(*aligned, strict=True)]
    return Layout(lines, [name for name in cells[0] if name in left_out])


def _width(columns: Collection[Sequence[str]]) -> int:
    return sum(max(map(_cells, column)) for column in columns) + len(GAP) * (len(columns) - 1)


def _cut(widths: list[int], limit: int) -> list[int]:
    """Return widths that fit together: the widest gives a character at a time."""
    room = limit - len(GAP) * (len(widths) - 1)
    while sum(widths) > room and max(widths) > NARROWEST:
        widths[widths.index(max(widths))] -= 1
    return widths


def _aligned(column: Sequence[str], width: int) -> Iterable[str]:
    body = [text for text in column[1:] if text not in UNKNOWN]
    is_number = bool(body) and all(NUMBER.match(text) for text in body)
    for text in column:
        shown = _shortened(text, width)
        padding = " " * (width - _cells(shown))
        yield padding + shown if is_number else shown + padding


def _shortened(text: str, width: int) -> str:
    if _cells(text) <= width:
        return text
    while _cells(text) > width - 1:
        text = text[:-1]
    return f"{text}…"


def _cells(text: str) -> int:
    """Return how many characters wide a terminal shows a text."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF") for c in text)
