"""Read a reply's hypothesis and edits, and apply them: all of them, or none with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from tracebench_autoresearch.edits import blocks, unified, whole
from tracebench_autoresearch.edits.files import UnusableEdit

_HYPOTHESIS = re.compile(r"^\W*hypothesis\W*:\W*?\s*(\S.*?)\s*$", re.IGNORECASE | re.MULTILINE)
_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Proposal:
    """A hypothesis, and the files as they would be."""

    hypothesis: str
    files: dict[str, str]


def read_proposal(reply: str, files: Mapping[str, str]) -> Proposal:
    """Apply a reply's edits to `files`, which stay as they are.

    Search-and-replace blocks, a unified diff and whole files are understood, the first that is found.

    Raises:
        UnusableEdit: when there is no edit, one does not apply, or they change nothing.
    """
    for form in (blocks, unified, whole):
        if form.is_present(reply):
            changed = form.apply(reply, files)
            break
    else:
        raise UnusableEdit(
            "the reply holds no edit: no SEARCH/REPLACE block, no unified diff, no `FILE:` with a block of text"
        )
    if changed == dict(files):
        raise UnusableEdit("the edit changes nothing")
    return Proposal(_hypothesis(reply), changed)


def _hypothesis(reply: str) -> str:
    match = _HYPOTHESIS.search(reply)
    words = match[1] if match else next((line.strip() for line in reply.splitlines() if line.strip()), "")
    return " ".join(words.strip("*_` ").split())[:_LONGEST]
