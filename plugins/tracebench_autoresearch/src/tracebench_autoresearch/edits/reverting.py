"""Take one edit back out of files that went on changing after it."""

from __future__ import annotations

import difflib
from collections.abc import Mapping

from tracebench_autoresearch.edits import unified
from tracebench_autoresearch.edits.files import UnusableEdit

_CONTEXTS = (3, 1)
"""Lines around a change that have to be as they were; fewer where a later edit is near."""


def without(files: Mapping[str, str], *, before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, str] | None:
    """Return `files` less the edit that made `after` of `before`; None where later edits stand on it."""
    changed = dict(files)
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        if old is None or new is None:
            if changed.get(path) != new:
                return None
            changed.pop(path, None)
            if old is not None:
                changed[path] = old
        elif path not in changed or (text := _reverted(changed[path], old=old, new=new)) is None:
            return None
        else:
            changed[path] = text
    return changed


def _reverted(text: str, *, old: str, new: str) -> str | None:
    if text == new:
        return old
    for context in _CONTEXTS:
        lines = difflib.unified_diff(new.split("\n"), old.split("\n"), "a/file", "b/file", lineterm="", n=context)
        try:
            return unified.apply("\n".join(lines), {"file": text})["file"]
        except UnusableEdit:
            continue
    return None
