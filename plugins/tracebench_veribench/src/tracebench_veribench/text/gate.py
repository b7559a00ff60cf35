"""The static gate: constructs that no honest file needs, found in code and never in comments or strings."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tracebench_veribench.text.lexing import Lexicon, UnterminatedError, code_only, line_of

MAX_LENGTH = 200_000
"""Characters of a file; the longest honest one of the benchmark has about 20,000."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One construct that is refused, and why."""

    pattern: re.Pattern[str]
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


def inspect(text: str, lexicon: Lexicon, rules: Iterable[Rule]) -> list[Finding]:
    """Return what `text` breaks, in the order of the lines; an honest file gives nothing."""
    if not text.strip():
        return [Finding(1, "", "the file is empty")]
    if len(text) > MAX_LENGTH:
        return [Finding(1, "", f"the file has {len(text):,} characters, more than {MAX_LENGTH:,}")]
    if "\0" in text:
        return [Finding(line_of(text, text.index("\0")), "", "the file holds a NUL character")]
    try:
        code = code_only(text, lexicon)
    except UnterminatedError as err:
        return [Finding(err.line, "", str(err))]
    found = [
        Finding(line_of(code, match.start()), " ".join(match.group().split()), rule.why)
        for rule in rules
        for match in rule.pattern.finditer(code)
    ]
    return sorted(found, key=lambda f: f.line)
