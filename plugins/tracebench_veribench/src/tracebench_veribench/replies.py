"""Takes the file out of a model's reply."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"^[ \t]*```[ \t]*([\w+-]*)[ \t]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)


def extract_file(reply: str, language: str) -> str:
    """Return the longest code block of `language`, else the longest of any, else the whole reply."""
    blocks = [(label.lower(), body) for label, body in _BLOCK.findall(reply)]
    right = [body for label, body in blocks if label == language] or [body for _, body in blocks]
    return max(right, key=len) if right else reply
