"""Blanks out comments and strings, so that keywords in them mean nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass


class LexingError(ValueError):
    """What is comment, string or code in a text cannot be told."""

    def __init__(self, words: str, line: int) -> None:
        super().__init__(words)
        self.line = line


class UnterminatedError(LexingError):
    """A comment or a string runs to the end of the file."""

    def __init__(self, what: str, line: int) -> None:
        super().__init__(f"the {what} that opens on line {line} is never closed", line)


class UnclearError(LexingError):
    """A mark may begin a literal, or end the word before it."""

    def __init__(self, line: int) -> None:
        super().__init__(
            "what may be a character or text here may be of the word before it: write a blank between them", line
        )


@dataclass(frozen=True, slots=True)
class Lexicon:
    """How a language writes comments and strings."""

    opening: str
    closing: str
    line_comment: str | None
    backslash_escapes: bool
    """Otherwise a doubled quote stands for a quote."""
    strings_in_comments: bool
    """Whether a string inside a comment hides the comment's end."""
    literal: re.Pattern[str] | None = None
    """Further literals that may hold a quote, such as characters; what it names `open` is the end of one that is not closed."""
    unclear: re.Pattern[str] | None = None
    """Where no literal is, what may be one all the same."""


COQ = Lexicon("(*", "*)", None, backslash_escapes=False, strings_in_comments=True)
LEAN = Lexicon(
    "/-",
    "-/",
    "--",
    backslash_escapes=True,
    strings_in_comments=False,
    literal=re.compile(
        r"""(?<![^\s(\[{⟨,|])'(?:\\(?:[\\"'rnt]|x[\da-fA-F]{2}|u[\da-fA-F]{4})|[^'\\\n])'"""  # a character, behind what ends any word
        r"""|(?<![\w.])r(\#*)"(?s:.*?)(?:"\1|(?P<open>\Z))"""  # a raw string
    ),
    # behind a name an apostrophe is of that name, in which there is no λ, Π or Σ; behind other marks, as in `xs[i]'h`, it may be of them
    unclear=re.compile(r"""'\\?"|(?:(?<![\w'!?])|(?<=[λΠΣ]))'(?:\\|[^\w\s']')|(?<=[λΠΣ\d])r\#*\""""),
)


def code_only(text: str, lexicon: Lexicon) -> str:
    """Return `text` with comments and strings turned into blanks; lines and columns stay.

    Raises:
        UnterminatedError: when a comment or a string does not end.
    """
    kept: list[str] = []
    at = 0
    while at < len(text):
        end = _skipped(text, at, lexicon)
        if end == at:
            kept.append(text[at])
            at += 1
            continue
        kept.append("".join("\n" if c == "\n" else " " for c in text[at:end]))
        at = end
    return "".join(kept)


def line_of(text: str, at: int) -> int:
    """Return the line, from 1, of an offset."""
    return text.count("\n", 0, at) + 1


def _skipped(text: str, at: int, lexicon: Lexicon) -> int:
    """Return where the comment or literal that starts at `at` ends; `at` itself when none starts there."""
    if text.startswith(lexicon.opening, at):
        return _comment_end(text, at, lexicon)
    if lexicon.line_comment and text.startswith(lexicon.line_comment, at):
        end = text.find("\n", at)
        return len(text) if end < 0 else end
    if text[at] == '"':
        return _string_end(text, at, lexicon)
    if lexicon.literal and (match := lexicon.literal.match(text, at)):
        if match["open"] is not None:
            raise UnterminatedError("string", line_of(text, at))
        return match.end()
    if lexicon.unclear and lexicon.unclear.match(text, at):
        raise UnclearError(line_of(text, at))
    return at


def _comment_end(text: str, start: int, lexicon: Lexicon) -> int:
    depth, at = 0, start
    while at < len(text):
        if text.startswith(lexicon.opening, at):
            depth, at = depth + 1, at + len(lexicon.opening)
        elif text.startswith(lexicon.closing, at):
            depth, at = depth - 1, at + len(lexicon.closing)
            if depth == 0:
                return at
        elif lexicon.strings_in_comments and text[at] == '"':
            at = _string_end(text, at, lexicon)
        else:
            at += 1
    raise UnterminatedError("comment", line_of(text, start))


def _string_end(text: str, start: int, lexicon: Lexicon) -> int:
    at = start + 1
    while at < len(text):
        if lexicon.backslash_escapes and text[at] == "\\":
            at += 2
        elif text[at] != '"':
            at += 1
        elif not lexicon.backslash_escapes and text.startswith('""', at):
            at += 2
        else:
            return at + 1
    raise UnterminatedError("string", line_of(text, start))
