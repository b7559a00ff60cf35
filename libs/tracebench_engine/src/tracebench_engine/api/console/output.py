"""What the command prints: data on stdout, everything else on stderr, JSON with its schema version."""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import shutil
import sys
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from tracebench_core.errors import OutputError
from tracebench_engine.api.console.tables import laid_out, places_of, wrapped

PROGRAM = "trace-bench"
SCHEMA_VERSION = 1
"""Of every JSON document on stdout. It rises when a field changes its meaning or goes; new fields may come at any time."""

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def open_streams() -> None:
    """Make both streams take every text, also where a shell closed them (`>&-`) or set an old encoding."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 - for as long as the process
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    """Write out what stdout still holds. That its reader has left, as in `| head`, is no error.

    Raises:
        OutputError: it cannot be written for another reason.
    """
    try:
        sys.stdout.flush()
    except OSError as err:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that the interpreter's own flush succeeds
        if not isinstance(err, BrokenPipeError):
            raise _unwritable(err) from err


def line(text: str) -> None:
    """Write one line of data to stdout."""
    try:
        sys.stdout.write(f"{text}\n")
    except BrokenPipeError:  # typer ends the command quietly
        raise
    except OSError as err:
        raise _unwritable(err) from err


def note(text: str) -> None:
    """Write one line for people to stderr."""
    sys.stderr.write(f"{text}\n")


def prose(text: str, *, is_data: bool = False) -> None:
    """Write a sentence for people to stderr, or one that is data to stdout.

    On a terminal its lines end with a word, and a command that it ends with stands on its own.
    """
    whole = safe(text)
    write = line if is_data else note
    if not (sys.stdout if is_data else sys.stderr).isatty():
        write(whole)
        return
    words, command, rest = whole.partition(f": {PROGRAM} ")
    for part in wrapped(words + (":" if command else ""), shutil.get_terminal_size().columns):
        write(part)
    if command:
        write(f"  {PROGRAM} {rest}")


def document(kind: str, **fields: Any) -> None:
    """Write one JSON document to stdout: indented on a terminal, one line elsewhere."""
    data = {"schema_version": SCHEMA_VERSION, "kind": kind, **fields}
    line(json.dumps(data, indent=2 if sys.stdout.isatty() else None, allow_nan=False))


def record(event: str, **fields: Any) -> None:
    """Write one JSON object of a stream to stdout, on one line."""
    line(json.dumps({"schema_version": SCHEMA_VERSION, "event": event, **fields}, allow_nan=False))


def table(
    headers: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    columns: Sequence[str] | None = None,
    least: Sequence[str] = (),
) -> None:
    """Write a table to stdout: laid out for the terminal's width, tab-separated with one header line elsewhere.

    `columns` are the chosen ones, all when None; nothing is written when the table has not all of them. `least` are those that are left out
    first where not all fit.
    """
    if not (places := places_of(headers, columns)):
        return
    cells = ([flat(row[place]) for place in places] for row in chain([headers], rows))
    if not sys.stdout.isatty():
        for row in cells:  # one by one: there may be a row for each of 100,000 jobs
            line("\t".join(row))
        return
    width = shutil.get_terminal_size().columns
    found = laid_out([*cells], width=width, least=least)
    for text in found.lines:
        line(text)
    if found.left_out:
        sys.stdout.flush()
        told = [f"{name} ({found.same[name]} in every row)" if name in found.same else name for name in found.left_out]
        prose(f"{len(told)} more in a wider terminal than {width}: {', '.join(told)}.")


def is_read() -> bool:
    """Tell whether standard output goes to a person rather than to a program."""
    return sys.stdout.isatty()


def command(*words: object) -> str:
    """Return `trace-bench` and some words as a line that can be typed, whatever spaces they hold."""
    return shlex.join([PROGRAM, *map(str, words)])


def safe(text: str) -> str:
    """Return text without control characters: what a model wrote must not drive the terminal."""
    return CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def flat(text: str) -> str:
    """Return text as one cell of a tab-separated line."""
    return safe(" ".join(text.split()))


def number(value: float | None) -> str:
    """Return a number as tables show it; what was not measured is a dash, never 0."""
    return "-" if value is None else f"{value:.6g}"


def _unwritable(err: OSError) -> OutputError:
    return OutputError(f"Standard output cannot be written: {err.strerror}.", hint="df -h")
