"""Two versions of a text side by side, as HTML: what was taken away in the one, and what was added in the other, word by word."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from difflib import SequenceMatcher

WORDS = re.compile(r"\w+(?:\.\w+)*|\s+|[^\w\s]")
MOST_WORDS = 3_000
"""Words of changed lines that are compared with one another; of more the lines are marked whole."""


def marked(before: str, after: str) -> tuple[str, str]:
    """Return both texts as HTML, escaped, with `<del>` in the first and `<ins>` in the second."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    left, right = [], []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        one, other = "".join(old[a:b]), "".join(new[c:d])
        if kind == "equal":
            left.append(html.escape(one))
            right.append(html.escape(other))
        else:
            taken, given = _by_word(WORDS.findall(one), WORDS.findall(other))
            left.append(taken)
            right.append(given)
    return "".join(left), "".join(right)


def _by_word(old: Sequence[str], new: Sequence[str]) -> tuple[str, str]:
    if len(old) + len(new) > MOST_WORDS:
        return _wrapped("del", old), _wrapped("ins", new)
    left, right = [], []
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        same = kind == "equal"
        left.append(html.escape("".join(old[a:b])) if same else _wrapped("del", old[a:b]))
        right.append(html.escape("".join(new[c:d])) if same else _wrapped("ins", new[c:d]))
    return "".join(left), "".join(right)


def _wrapped(tag: str, words: Sequence[str]) -> str:
    return f"<{tag}>{html.escape(''.join(words))}</{tag}>" if words else ""
