"""Unified diffs, as `git diff` and models write them: line numbers may be wrong, lines may not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tracebench_autoresearch.edits.files import UnusableEdit, clean_path, demand_known

_HEAD = re.compile(r"^--- (?P<old>\S+)[^\n]*\n\+\+\+ (?P<new>\S+)", re.MULTILINE)
_HUNK = re.compile(r"^@@(?: -(?P<line>\d+)(?:,\d+)? \+\d+(?:,\d+)? @@)?")
_NOWHERE = "/dev/null"


@dataclass(slots=True)
class _Hunk:
    line: int
    old: list[str] = field(default_factory=list)
    new: list[str] = field(default_factory=list)


def is_present(reply: str) -> bool:
    """Say whether a reply holds a diff."""
    return _HEAD.search(reply) is not None


def apply(reply: str, files: Mapping[str, str]) -> dict[str, str]:
    """Return the files after the diff; a new file comes from `/dev/null`, a deleted one goes there.

    Raises:
        UnusableEdit: when a file is unknown, or a hunk's lines are nowhere, or in several places and not where it says.
    """
    changed = dict(files)
    heads = list(_HEAD.finditer(reply))
    for head, end in zip(heads, [*(h.start() for h in heads[1:]), len(reply)], strict=True):
        old, new = _path(head["old"], "a/"), _path(head["new"], "b/")
        hunks = list(_hunks(reply[head.end() : end]))
        if not hunks:
            raise UnusableEdit(f"the diff of `{new}` has no hunk")
        if old == _NOWHERE:
            changed[new] = "".join(f"{line}\n" for hunk in hunks for line in hunk.new)
            continue
        demand_known(old, changed)
        text = _patched(changed.pop(old), hunks, old)
        if new != _NOWHERE:
            changed[new] = text
    return changed


def _path(written: str, prefix: str) -> str:
    return written if written == _NOWHERE else clean_path(written).removeprefix(prefix)


def _hunks(text: str) -> Iterator[_Hunk]:
    hunk: _Hunk | None = None
    for line in text.splitlines():
        if match := _HUNK.match(line):
            if hunk is not None:
                yield hunk
            hunk = _Hunk(int(match["line"] or 0))
        elif line.startswith(("```", "diff --git ", "index ")):
            break
        elif hunk is not None and not line.startswith("\\"):
            mark, rest = (line[0], line[1:]) if line else (" ", "")
            if mark not in " +-":
                break
            hunk.old += [rest] if mark in " -" else []
            hunk.new += [rest] if mark in " +" else []
    if hunk is not None:
        yield _without_trailing(hunk)


def _without_trailing(hunk: _Hunk) -> _Hunk:
    """Drop empty lines after the last hunk, which belong to the reply."""
    while hunk.old and hunk.new and hunk.old[-1] == hunk.new[-1] == "":
        hunk.old.pop()
        hunk.new.pop()
    return hunk


def _patched(text: str, hunks: list[_Hunk], path: str) -> str:
    lines = text.split("\n")
    shift = 0
    for number, hunk in enumerate(hunks, start=1):
        place = _place(lines, hunk.old, hunk.line - 1 + shift)
        if place is None:
            raise UnusableEdit(
                f"hunk {number} does not apply to `{path}`: its lines are not there, or not in one place alone"
            )
        lines[place : place + len(hunk.old)] = hunk.new
        shift += len(hunk.new) - len(hunk.old)
    return "\n".join(lines)


def _place(lines: list[str], old: list[str], expected: int) -> int | None:
    """Return where a hunk's lines are: where it says, else the one place where they are."""
    if not old:
        return min(max(expected + 1, 0), len(lines))
    if expected >= 0 and lines[expected : expected + len(old)] == old:
        return expected
    places = [i for i in range(len(lines) - len(old) + 1) if lines[i : i + len(old)] == old]
    return places[0] if len(places) == 1 else None
