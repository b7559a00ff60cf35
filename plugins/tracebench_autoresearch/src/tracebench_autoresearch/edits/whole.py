"""Whole files: a line `FILE: path`, then the new text in a fenced block."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tracebench_autoresearch.edits.files import clean_path

_FILE = re.compile(
    r"^[^\w\n]*FILE\W*:[ \t]*(?P<path>[^\n]+)\n\s*(?P<fence>`{3,})[^\n`]*\n(?P<text>.*?)^(?P=fence)[ \t]*$",
    re.DOTALL | re.MULTILINE,
)


def is_present(reply: str) -> bool:
    """Say whether a reply holds whole files."""
    return _FILE.search(reply) is not None


def apply(reply: str, files: Mapping[str, str]) -> dict[str, str]:
    """Return the files with those of the reply in their places."""
    return dict(files) | {clean_path(match["path"]): match["text"] for match in _FILE.finditer(reply)}
