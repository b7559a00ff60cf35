"""Finding the answer in a reply: after the last "Answer:", inside `\\boxed{}`, without bold, fences, quotes and full stop."""

from __future__ import annotations

import re

MARKER = re.compile(
    r"(?<![a-z])(?:(?:the|my)[ \t]+)?(?:(?:final|correct|best|right)[ \t]+)?(?:answer|option|choice)[*_]*"
    r"(?:[ \t]*[:=][*_]*|[ \t]+is[*_]*[ \t]*:?)[*_]*",
    re.IGNORECASE,
)
BOX = "\\boxed{"
WRAPPED = re.compile(r"^\\(?:text|texttt|mathrm|mathbf|textbf|mathit)\{(.*)\}$", re.DOTALL)
PAIRS = (
    ("**", "**"),
    ("__", "__"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
)
DEEPEST = 8
"""Decorations inside each other that are taken off."""
FENCE = re.compile(r"^```[\w+-]*[ \t]*\n(.*?)\n?```$", re.DOTALL)


def final_answer(reply: str) -> str:
    """Return what the reply gives as its answer: the marked part, else the last box, else the whole reply, undecorated."""
    marked = after_marker(reply)
    if marked is not None:
        return bare(boxed(marked) or marked)
    return bare(boxed(reply) or reply)


def after_marker(reply: str) -> str | None:
    """Return the first line after the last "Answer:" or "the answer is" that is followed by anything; None without one."""
    for found in reversed(list(MARKER.finditer(reply))):
        tail = reply[found.end() :].strip()
        if tail:
            return tail if tail.startswith("```") else tail.splitlines()[0].strip()
    return None


def boxed(text: str) -> str | None:
    r"""Return the content of the last `\boxed{…}`, braces balanced; None without one."""
    start = text.rfind(BOX)
    if start < 0:
        return None
    depth, first = 1, start + len(BOX)
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
        if (box := boxed(text)) is not None and text.startswith((BOX, "$" + BOX)):
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
