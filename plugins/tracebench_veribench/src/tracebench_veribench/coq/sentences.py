"""Splits Coq text into sentences and reads the command of each: what a file does, as opposed to what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_END = re.compile(r"(?<!\.)\.(?:\.\.)?(?=\s|\Z)")
"""A full stop, or `...` that ends a proof step; `..` stands inside of notations."""
_BEFORE = re.compile(
    r"""(?:\s
        | [-+*]+ | [{}]                                      # bullets and braces of a proof
        | (?:\d+|all|par|!|\[[^\]]*\])\s*:(?!=)\s*             # a goal selector
        | \#\[(?:[^\[\]]|\[[^\]]*\])*\]                       # attributes
        | (?:Local|Global|Program|Polymorphic|Monomorphic|Cumulative|NonCumulative|Private|Time|Fail|Succeed)\b
        | Export(?=\s+(?:Set|Unset)\b)
        | Timeout\s+\d+
    )*""",
    re.VERBOSE,
)
_COMMAND = re.compile(r"[A-Z]\w*(?!\w|\.\w)")


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence of a file without its comments and strings."""

    start: int
    """Offset of its first character after blanks."""
    text: str
    prefix: str
    """Bullets, selectors, attributes and other words that stand before the command."""
    command: str
    """Its first word when that is a command's, such as `Theorem`; empty for a step of a proof, such as `Z.order`."""


def split(code: str) -> Iterator[Sentence]:
    """Yield the sentences of `code`, in which comments and strings are blank; what follows the last full stop is one, too."""
    start = 0
    for end in [match.end() for match in _END.finditer(code)] + [len(code)]:
        if (sentence := _read(code, start, end)) is not None:
            yield sentence
        start = end


def _read(code: str, start: int, end: int) -> Sentence | None:
    text = code[start:end]
    if not text.strip():
        return None
    skipped = len(text) - len(text.lstrip())
    head = _BEFORE.match(text, skipped)
    at = head.end() if head else skipped
    command = _COMMAND.match(text, at)
    return Sentence(start + skipped, text[skipped:], text[skipped:at], command.group() if command else "")
