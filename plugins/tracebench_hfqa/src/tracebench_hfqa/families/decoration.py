"""What writers put around an answer, and taking it off: bold, fences, quotes, LaTeX, a final full stop."""

from __future__ import annotations

import re

BOX = re.compile(r"\\(?:boxed|fbox)\s*\{")
WRAPPED = re.compile(r"^\\(?:text|texttt|mathrm|mathbf|mathit|textbf|textit|textsf|operatorname)\s*\{([^{}]*)\}$")
PAIRS = (
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("_", "_"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("\u2018", "\u2019"),
    ("«", "»"),
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
)
DEEPEST = 8
"""Decorations inside each other that are taken off."""
FENCE = re.compile(r"^```[\w+-]*[ \t]*\n(.*?)\n?```$", re.DOTALL)
BULLET = re.compile(r"^(?:[-*•→➜➤▶✅✔️>]|->|=>)\s+")


def boxed(text: str) -> str | None:
    r"""Return the content of the last `\boxed{…}`, braces balanced; None without one."""
    found = None
    for found in BOX.finditer(text):  # noqa: B007 - the last is wanted
        pass
    if found is None:
        return None
    depth, first = 1, found.end()
    for end in range(first, len(text)):
        depth += (text[end] == "{") - (text[end] == "}")
        if depth == 0:
            return text[first:end]
    return None


def bare(text: str) -> str:
    """Return a text without the decoration around it and without its final full stop."""
    text = text.strip()
    for _ in range(DEEPEST):
        before = text
        if fenced := FENCE.match(text):
            text = fenced[1].strip()
        text = BULLET.sub("", text)
        if (box := boxed(text)) is not None and BOX.match(text.lstrip("$ ")):
            text = box.strip()
        if wrapped := WRAPPED.match(text):
            text = wrapped[1].strip()
        for left, right in PAIRS:
            inner = text[len(left) : len(text) - len(right)]
            if (
                len(text) > len(left) + len(right)
                and text.startswith(left)
                and text.endswith(right)
                and left not in inner
            ):
                text = inner.strip()
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1].rstrip()
        if text == before:
            break
    return text
