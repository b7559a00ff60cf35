"""The static gate: constructs that no honest file needs, found in code and never in comments or strings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tracebench_veribench.text.lexing import Lexicon, LexingError, code_only, line_of

MAX_LENGTH = 200_000
"""Characters of a file; the longest honest one of the benchmark has about 20,000."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One construct that is refused, and why."""

    pattern: re.Pattern[str]
    why: str


@dataclass(frozen=True, slots=True)
class Place:
    """One construct of a file that is refused."""

    start: int
    """Its offset in the text."""
    text: str
    why: str


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a file breaks a rule."""

    line: int
    text: str
    why: str

    def __str__(self) -> str:
        """Say it in one line."""
        return (
            f"line {self.line}: `{self.text}` is not allowed: {self.why}"
            if self.text
            else f"line {self.line}: {self.why}"
        )


def rule(pattern: str, why: str) -> Rule:
    """Build a rule from a regular expression."""
    return Rule(re.compile(pattern), why)


def inspect(
    text: str,
    lexicon: Lexicon,
    rules: Iterable[Rule],
    judge: Callable[[str], Iterable[Place]] | None = None,
) -> list[Finding]:
    """Return what `text` breaks, the first of each line, in the order of the lines; an honest file gives nothing.

    `judge` names further places; it is given the text with comments and strings turned into blanks.
    """
    if not text.strip():
        return [Finding(1, "", "the file is empty")]
    if len(text) > MAX_LENGTH:
        return [Finding(1, "", f"the file has {len(text):,} characters, more than {MAX_LENGTH:,}")]
    if "\0" in text:
        return [Finding(line_of(text, text.index("\0")), "", "the file holds a NUL character")]
    try:
        code = code_only(text, lexicon)
    except LexingError as err:
        return [Finding(err.line, "", str(err))]
    places = [Place(m.start(), " ".join(m.group().split()), r.why) for r in rules for m in r.pattern.finditer(code)]
    found = sorted([*places, *(judge(code) if judge else ())], key=lambda place: place.start)
    by_line: dict[int, Finding] = {}
    for place in found:
        line = line_of(code, place.start)
        by_line.setdefault(line, Finding(line, place.text, place.why))
    return list(by_line.values())
