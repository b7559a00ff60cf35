"""JSON text that only reads as text: what would act on a terminal, or turn the order of what is read, is spelled out."""

from __future__ import annotations

import re

_ACTS = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
"""What a JSON encoder passes through: it escapes the control characters below the space itself."""


def escaped(text: str) -> str:
    """Return JSON text with such characters, which can only stand in its strings, as `\\uXXXX`; it reads back as the same values."""
    if text.isascii() and "\x7f" not in text:
        return text
    return _ACTS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
