"""Slips of the pen that YAML reports at another line, or takes for text: told where they stand."""

from __future__ import annotations

import re
from typing import NamedTuple

import yaml

from tracebench_engine.config.secrets import secret_of_line

_MERGE = re.compile(r"(<{7}|>{7}|\|{7})( |$)|={7}$")
_INDENT = re.compile(r"[ \t]*\t")
_WIDE = "\uff1a"
_TYPED = {"\xa0": "a no-break space", "\u3000": "an ideographic space", "\ufeff": "a byte-order mark"}
_TYPED |= dict.fromkeys(
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f", "a typographic space"
)
_TYPED |= dict.fromkeys("\u200b\u200c\u200d\u2060", "an invisible character") | {_WIDE: "a full-width colon"}
_STRANGE = re.compile(f"^[^#'\"]*?([{''.join(_TYPED)}])")
_GLUED = re.compile(r"\s*([A-Za-z_][\w-]*):(?![\s/:])(\S.*)$")
_ASSIGNED = re.compile(r"\s*(?:- +)?([A-Za-z_][\w.-]*)\s*=\s*(\S.*)$")
_BARE = re.compile(r"\s*(?:- +)?([A-Za-z_][\w-]*)[ \t]+([^\s:#][^:#]*)$")
_LONE = re.compile(r"([A-Za-z_]\w*)$")
_BULLET = re.compile(r"\s*-([A-Za-z_][\w:./-]*)\s*$")
_FIELD = re.compile(r"( *)((?:- +)*)([A-Za-z_][\w-]*):(?: +(\S.*))?$")
_BLOCK = re.compile(r"[|>][-+0-9]*$")
_SLIPS = (
    (_LONE, "no colon after the field", r"\1:"),
    (_GLUED, "no space after the colon", r"\1: \2"),
    (_ASSIGNED, "`=` in place of `:`", r"\1: \2"),
    (_BULLET, "no space after the dash", r"- \1"),
    (_BARE, "no colon after the field", r"\1: \2"),
)
"""No pattern matches a comment."""
_ALIGNED = "fields that belong together begin in the same column"
DEEPEST = 100
"""Brackets in each other that are followed: YAML's own scanner looks at all of them for every one."""
REACH = 3
"""Lines in which a slip is looked for: the one that YAML complains of and those before it; further up is text of its own."""


class Slip(NamedTuple):
    """Where a slip stands, from 1, and what it is."""

    line: int
    words: str


def find_slip(text: str, upto: int) -> Slip | None:
    """Return the slip that best explains what YAML complains of in line `upto`; None when none is known."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if _MERGE.match(line):
            return Slip(number, "a marker of a merge that was not finished: keep one of the two sides")
    near = [*enumerate(lines, 1)][max(0, upto - REACH) : upto]
    for number, line in near:
        if _INDENT.match(line):
            return Slip(number, "a tab: YAML is indented with spaces")
        if strange := _STRANGE.match(line):
            sign = strange[1]
            return Slip(
                number, f"{_TYPED[sign]} (U+{ord(sign):04X}): type a plain {'colon' if sign == _WIDE else 'space'}"
            )
    if (opened := _open_bracket(text)) is not None:
        sign, first = opened
        kind, closing = ("list", "]") if sign == "[" else ("mapping", "}")
        return Slip(upto, f"a `{closing}` is missing: the {kind} that begins in line {first} is not closed")
    for number, line in reversed(near):
        if (words := _misspelt(line.rstrip())) is not None:
            return Slip(number, words)
    return _shifted(lines[:upto])


def _shifted(lines: list[str]) -> Slip | None:
    """Return the field that stands in another column than its neighbours: the last line, or the first one of the file before it."""
    columns = [
        (number, len(found[1]) + len(found[2]), found[4] or "")
        for number, line in enumerate(lines, 1)
        if (found := _FIELD.match(line))
    ]
    if len(columns) < 2 or columns[-1][0] != len(lines):  # noqa: PLR2004 - there is no neighbour
        return None
    (number, column, _), above = columns[-1], columns[:-1]
    first = above[0]
    if column < first[1]:
        return Slip(
            first[0],
            f"the field is indented by {_spaces(first[1])}, and a later one in line {number} by {_spaces(column)}: {_ALIGNED}",
        )
    before, beside, value = above[-1]
    if column > beside and value and not _BLOCK.match(value):
        return Slip(
            number,
            f"the field is indented by {_spaces(column)}, and the one before it in line {before} by {_spaces(beside)}: {_ALIGNED}",
        )
    open_columns: list[int] = []
    for _, each, _ in above:
        open_columns = [*(open_ for open_ in open_columns if open_ < each), each]
    if column > beside or column in open_columns:
        return None
    places = " or ".join(_spaces(each) for each in open_columns)
    return Slip(number, f"the field is indented by {_spaces(column)}, and those above it by {places}: {_ALIGNED}")


def _spaces(column: int) -> str:
    return "1 space" if column == 1 else f"{column} spaces"


def _open_bracket(text: str) -> tuple[str, int] | None:
    """Return the first bracket that is never closed, and its line; None where all are, one too many is closed, or YAML reads no further."""
    waiting: list[tuple[str, int]] = []
    try:
        for token in yaml.scan(text):
            if isinstance(token, yaml.FlowSequenceStartToken | yaml.FlowMappingStartToken):
                sign = "[" if isinstance(token, yaml.FlowSequenceStartToken) else "{"
                waiting.append((sign, token.start_mark.line + 1))
                if len(waiting) > DEEPEST:
                    return None
            elif isinstance(token, yaml.FlowSequenceEndToken | yaml.FlowMappingEndToken):
                waiting.pop()
    except (yaml.YAMLError, ValueError, IndexError):
        return None
    return waiting[0] if waiting else None


def _misspelt(line: str) -> str | None:
    """Say what is wrong with a line that is no field: the first pattern that it has."""
    for pattern, words, form in _SLIPS:
        if found := pattern.match(line):
            return secret_of_line(line) or f"{words}: write `{found.expand(form)}`"
    return None
