"""What the command prints: data on stdout, everything else on stderr, JSON with its schema version."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

SCHEMA_VERSION = 1
"""Of every JSON document on stdout. It rises when a field changes its meaning or goes; new fields may come at any time."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def line(text: str) -> None:
    """Write one line of data to stdout."""
    sys.stdout.write(f"{text}\n")


def note(text: str) -> None:
    """Write one line for people to stderr."""
    sys.stderr.write(f"{text}\n")


def document(kind: str, **fields: Any) -> None:
    """Write one JSON document to stdout: indented on a terminal, one line elsewhere."""
    data = {"schema_version": SCHEMA_VERSION, "kind": kind, **fields}
    line(json.dumps(data, indent=2 if sys.stdout.isatty() else None, allow_nan=False))


def record(event: str, **fields: Any) -> None:
    """Write one JSON object of a stream to stdout, on one line."""
    line(json.dumps({"schema_version": SCHEMA_VERSION, "event": event, **fields}, allow_nan=False))


def table(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table to stdout: laid out on a terminal, tab-separated with one header line elsewhere."""
    cells = [[flat(cell) for cell in row] for row in (headers, *rows)]
    if not sys.stdout.isatty():
        for row in cells:
            line("\t".join(row))
        return
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        line("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def safe(text: str) -> str:
    """Return text without control characters: what a model wrote must not drive the terminal."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def flat(text: str) -> str:
    """Return text as one cell of a tab-separated line."""
    return safe(" ".join(text.split()))


def number(value: float | None) -> str:
    """Return a number as tables show it; what was not measured is a dash, never 0."""
    return "-" if value is None else f"{value:.6g}"
