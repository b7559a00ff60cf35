"""Patches in place of whole texts: search-and-replace blocks or a unified diff, applied as a whole or refused as a whole.

Nothing is guessed: text to be replaced stands in the current value exactly once (or, in a diff, at the line that it names), and no two
changes touch the same place. Line ends of the current value are kept.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import islice, pairwise

from tracebench_core.proposing.conversion import RefusedValue
from tracebench_core.proposing.replies import strip_fence

SEARCH, DIVIDER, REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
PATCH_FORMAT = f"""\
A value that is a text or a program may be changed by a patch in its place, one or more blocks of this form and nothing else:
{SEARCH}
<lines of the current value, exactly as they stand and long enough to stand there only once>
{DIVIDER}
<the lines that take their place>
{REPLACE}
A unified diff will do, too. All blocks are applied, or none."""
_HUNK = re.compile(r"@@ -(\d{1,18})(?:,(\d+))? \+\d+(?:,\d+)? @@.*|@@.*")
"""The head of a hunk; what is no number of a line counts as none."""
_HEADERS = ("diff ", "index ", "--- ", "+++ ")
MOST_TOLD = 100
"""Places at which a part of a patch would fit that are counted: each takes a look at all of it."""
NO_NEWLINE = "\\ No newline at end of file"


def is_patch(written: str) -> bool:
    """Tell whether a text is a patch rather than a whole value: it begins as one."""
    lines = strip_fence(written).lstrip().splitlines()
    first = lines[0].rstrip() if lines else ""
    return first == SEARCH or first.startswith("@@ ") or (first.startswith(_HEADERS) and any(map(_HUNK.match, lines)))


def apply_patch(current: str, written: str) -> str:
    """Return the current text with a patch applied.

    Raises:
        RefusedValue: when any part of it cannot be applied; then nothing is.
    """
    text = _plain(strip_fence(written)).strip("\n")
    is_dos = "\r\n" in current and "\n" not in current.replace("\r\n", "")
    base = _plain(current) if is_dos else current
    patched = _replaced(base, text) if text.startswith(SEARCH) else _merged(base, text)
    return patched.replace("\n", "\r\n") if is_dos else patched


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")


def _replaced(base: str, text: str) -> str:
    changes: list[tuple[int, int, str]] = []
    for number, (search, new) in enumerate(_blocks(text), 1):
        if not search.strip():
            raise RefusedValue(f"block {number} of the patch searches for nothing")
        whole = _found(f"\n{search}\n", f"\n{base}\n") or _found(search, base)
        if len(whole) != 1:
            raise RefusedValue(
                f"what block {number} of the patch searches for stands {_times(whole)} in the current value"
            )
        changes.append(_spanning(base, whole[0], whole[0] + len(search), new))
    _demand_apart([(start, end) for start, end, _ in changes])
    for start, end, new in sorted(changes, reverse=True):
        base = base[:start] + new + base[end:]
    return base


def _found(part: str, text: str) -> list[int]:
    """Return where a part stands in a text, a few more places than anybody is told of at most."""
    places: list[int] = []
    at = text.find(part)
    while at >= 0 and len(places) <= MOST_TOLD:
        places.append(at)
        at = text.find(part, at + 1)
    return places


def _times(places: list[int]) -> str:
    if not places:
        return "nowhere"
    return f"{len(places)} times" if len(places) <= MOST_TOLD else f"more than {MOST_TOLD} times"


def _is_whole(base: str, start: int, end: int) -> bool:
    """Tell whether a span is made of whole lines."""
    return (start == 0 or base[start - 1] == "\n") and (end == len(base) or base[end] == "\n")


def _spanning(base: str, start: int, end: int, new: str) -> tuple[int, int, str]:
    """Return what is to be replaced by what; lines that are replaced by nothing go with their line end."""
    if not new and _is_whole(base, start, end) and end < len(base):
        end += 1
    return start, end, new


def _blocks(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    part: list[str] | None = None
    search: list[str] = []
    for line in text.split("\n"):
        mark = line.rstrip()
        if part is None and mark == SEARCH:
            part = search = []
            divided = False
        elif part is not None and mark == SEARCH:
            raise RefusedValue(f"block {len(found) + 1} of the patch has no `{REPLACE}`")
        elif part is not None and not divided and mark == DIVIDER:
            part, divided = [], True
        elif part is not None and mark == REPLACE:
            if not divided:
                raise RefusedValue(f"block {len(found) + 1} of the patch has no `{DIVIDER}`")
            found.append(("\n".join(search), "\n".join(part)))
            part = None
        elif part is not None:
            part.append(line)
        elif mark:
            raise RefusedValue(f"the patch holds text outside of its blocks: {mark[:60]!r}")
    if part is not None:
        raise RefusedValue(f"block {len(found) + 1} of the patch has no `{REPLACE}`")
    return found


@dataclass(slots=True)
class _Hunk:
    """One hunk of a diff."""

    at: int | None
    """Its line in the current text, from 0, where it says."""
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)
    has_end: bool | None = None
    """Whether the text now ends with a line end; None where the hunk does not say."""
    _last: str = ""

    def take(self, line: str) -> None:
        """Take in a line."""
        if line == NO_NEWLINE:
            self.has_end = False if self._last == "+" else (self._last == "-" and self.has_end is not False) or None
            return
        self._last, rest = (line[0], line[1:]) if line else (" ", "")
        if self._last not in " +-":
            raise RefusedValue(f"a line of the patch begins with none of ` `, `+`, `-`: {line[:60]!r}")
        if self._last != "+":
            self.old.append(rest)
        if self._last != "-":
            self.new.append(rest)


def _merged(base: str, text: str) -> str:
    has_end = base.endswith("\n") or not base
    lines = base.split("\n")[:-1] if has_end else base.split("\n")
    changes: list[tuple[int, int, list[str]]] = []
    after = 0
    known: dict[str, list[int]] = {}
    for place, line in enumerate(lines):
        known.setdefault(line, []).append(place)
    for number, hunk in enumerate(_hunks(text), 1):
        if hunk.old == hunk.new and hunk.has_end is None:
            raise RefusedValue(f"hunk {number} of the patch changes nothing")
        start = _place(lines, known, hunk, after=after, number=number)
        after = start + len(hunk.old)
        changes.append((start, after, hunk.new))
        has_end = has_end if hunk.has_end is None else hunk.has_end
    _demand_apart([(start, end) for start, end, _ in changes])
    for start, end, new in reversed(changes):
        lines[start:end] = new
    return "\n".join(lines) + ("\n" if has_end and lines else "")


def _demand_apart(spans: list[tuple[int, int]]) -> None:
    for (_, end), (start, _) in pairwise(sorted(spans)):
        if start < end:
            raise RefusedValue("two parts of the patch change the same place")


def _place(lines: list[str], known: dict[str, list[int]], hunk: _Hunk, *, after: int, number: int) -> int:
    """Return where a hunk's old lines stand: where it says, or where they stand only once; `known` tells where each line stands."""
    at, old = hunk.at, hunk.old
    if at is not None and after <= at <= len(lines) and lines[at : at + len(old)] == old:
        return at
    begun = (i for i in known.get(old[0], ()) if lines[i : i + len(old)] == old) if old else ()
    found = [*islice(begun, MOST_TOLD + 1)]
    if len(found) != 1:
        raise RefusedValue(
            f"the lines that hunk {number} of the patch changes stand {_times(found)} in the current value"
        )
    return found[0]


def _hunks(text: str) -> list[_Hunk]:
    """Read a diff of one text."""
    found: list[_Hunk] = []
    for line in text.split("\n"):
        if (head := _HUNK.fullmatch(line)) is not None:
            at = None if head[1] is None else int(head[1]) - (0 if head[2] == "0" else 1)
            found.append(_Hunk(at))
        elif line.startswith(("diff ", "--- a/")) and found:
            raise RefusedValue("the patch changes more than one text")
        elif found:
            found[-1].take(line)
        elif line.strip() and not line.startswith(_HEADERS):
            raise RefusedValue(f"the patch holds text before its first hunk: {line[:60]!r}")
    if not found:
        raise RefusedValue("the patch has no hunk")
    return found
