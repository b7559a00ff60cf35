"""Text as pages show it: without what acts anywhere, and cut where it is long."""

from __future__ import annotations

import re

LONGEST_TEXT, MOST_LINES = 20_000, 1_000
"""Characters and lines of one text that a page shows; the rest is a download, or is not published."""
LONGEST_WORDS = 1_000
"""Characters of a text that stands in a sentence, a cell or a chart."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def words(text: str) -> str:
    """Return text as it stands in a sentence, a cell or a chart: visible, and cut where it is long."""
    return visible(text if len(text) <= LONGEST_WORDS else f"{text[:LONGEST_WORDS]}…")


def visible(text: str) -> str:
    """Return text without what drives terminals or turns the direction of writing."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def beginning(text: str) -> str:
    """Return the beginning of a long text, visible."""
    return visible("\n".join(text[:LONGEST_TEXT].split("\n", MOST_LINES)[:MOST_LINES]))
