"""What every log of another program comes down to: rows of question, epoch and scores, and how its files are opened."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tracebench_core.averages import LARGEST
from tracebench_core.errors import UsageError, quoted

SHOWN = 8
"""Names that a message lists before it says how many more there are."""


@dataclass(frozen=True, slots=True)
class Row:
    """One answer of a model to one question."""

    task: str
    question: str
    epoch: int
    scores: Mapping[str, float | None]
    """By metric; None where the log has something that is no number, such as NaN."""
    digest: str | None
    """Of what was asked: rows of two logs are one question only where it is the same."""
    prompt: str | None = None
    """Digest of the prompt, which may differ where the question does not: by a template, or by other examples."""
    cluster: str | None = None
    is_failed: bool = False
    """The answer was never finished: the log holds an error in its place."""

    @property
    def key(self) -> tuple[str, str]:
        """Names the question among those of all tasks."""
        return self.task, self.question


@dataclass(frozen=True, slots=True)
class Log:
    """One model on one or more tasks."""

    path: Path
    label: str
    rows: Sequence[Row]
    tasks: frozenset[str]
    """Empty where the file does not say."""
    dataset: str | None = None
    lower_is_better: frozenset[str] = frozenset()
    """Metrics of which the log says so."""
    remarks: tuple[str, ...] = ()
    """What a reader should know of it, such as that it was cut short."""

    @property
    def metrics(self) -> list[str]:
        """Names of what its rows are scored by, as they come."""
        return [*dict.fromkeys(name for row in self.rows for name in row.scores)]


def labelled(logs: Sequence[Log]) -> list[Log]:
    """Return logs with labels of which each stands once: the model, then the file's name, then a number."""
    return _told_apart(_told_apart(logs, by_number=False), by_number=True)


def _told_apart(logs: Sequence[Log], *, by_number: bool) -> list[Log]:
    labels = [log.label for log in logs]
    return [
        replace(log, label=f"{log.label} #{i}" if by_number else f"{log.label} ({log.path.stem})")
        if labels.count(log.label) > 1
        else log
        for i, log in enumerate(logs, start=1)
    ]


def regular_file(path: Path, *, most: int | None = None, hint: str = "") -> Path:
    """Return a path that is a file which can be read.

    Raises:
        UsageError: there is none, it is something else, it is empty, or it is longer than `most` bytes.
    """
    try:
        if not path.exists():
            raise UsageError(f"There is no log `{path}`.", hint=f"ls {quoted(path.parent)}")
        if not path.is_file():
            raise UsageError(
                f"`{path}` is {'a folder' if path.is_dir() else 'no file'}, not a log.", hint=f"ls {quoted(path)}"
            )
        size = path.stat().st_size
        with path.open("rb"):
            pass
    except (OSError, ValueError) as err:
        raise UsageError(f"`{path}` cannot be read: {reason(err)}.", hint=f"ls -l {quoted(path.parent)}") from err
    if size == 0:
        raise UsageError(f"`{path}` is empty.", hint=f"ls -l {quoted(path)}")
    if most is not None and size > most:
        raise UsageError(
            f"`{path}` has {size / 2**20:,.0f} MiB; at most {most // 2**20:,} are read at once.", hint=hint
        )
    return path


def parsed(text: bytes, where: str, *, hint: str) -> Any:
    """Return what JSON says.

    Raises:
        UsageError: it is no JSON, or nested too deeply.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as err:
        told = "it is nested too deeply" if isinstance(err, RecursionError) else reason(err)
        raise UsageError(f"{where} is no JSON: {told}.", hint=hint) from err


def finite(value: object) -> float | None:
    """Return a number as it is, and None for everything that is no finite one, or beyond what can be averaged."""
    if not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if abs(found) <= LARGEST else None


def digest_of(value: object) -> str:
    """Return the digest of JSON data, whatever the order of its fields."""
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()


def cluster_of(fields: object, name: str | None, where: str) -> str | None:
    """Return the cluster that a row's field names; None where no field was asked for.

    Raises:
        UsageError: the row has no such field, or nothing that can be a name in it.
    """
    if name is None:
        return None
    known = {k: v for k, v in fields.items() if isinstance(v, str | int | float)} if isinstance(fields, dict) else {}
    value = known.get(name)
    if value is None or value != value:  # noqa: PLR0124 - NaN stands for nothing
        raise UsageError(f"{where} has no field `{name}` to cluster by.", hint=f"its fields: {listed(known)}")
    return str(value)


def listed(names: Sequence[str] | Mapping[str, object]) -> str:
    """Return names in backticks, the first ones of many; `none` of none."""
    shown, more = [f"`{name}`" for name in [*names][:SHOWN]], len(names) - SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "") or "none"


def reason(err: Exception) -> str:
    """Return what an exception says, in one line and without a full stop."""
    told = err.strerror if isinstance(err, OSError) and err.strerror else str(err) or type(err).__name__
    return " ".join(told.split()).rstrip(".")[:200]
