"""What a checker says of a file, with source lines."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

_CONTEXT = 1
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One message at a place; lines count from 1, columns from 0."""

    severity: Literal["error", "warning", "information"]
    line: int
    column: int
    message: str


def quoted(diagnostics: Iterable[Diagnostic], source: str) -> list[str]:
    """Return each message with the source lines around its place."""
    lines = source.splitlines()
    return [_quoted(d, lines) for d in diagnostics]


def _quoted(diagnostic: Diagnostic, lines: list[str]) -> str:
    first, last = max(1, diagnostic.line - _CONTEXT), min(len(lines), diagnostic.line + _CONTEXT)
    around = [f"{'>' if n == diagnostic.line else ' '} {n:4} | {lines[n - 1][:160]}" for n in range(first, last + 1)]
    message = diagnostic.message.strip()
    if len(message) > _LONGEST:
        message = message[:_LONGEST] + " …"
    return "\n".join([f"line {diagnostic.line}, column {diagnostic.column}: {message}", *around])
