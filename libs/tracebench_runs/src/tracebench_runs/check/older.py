"""Tables of earlier versions: they lack the columns and the fields that were added since, and are as true as they were."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any


def is_told_by(kept: bytes, expected: bytes, *, suffix: str) -> bool:
    """Tell whether a kept table says what is expected of it, or the part of it that an earlier version wrote.

    Args:
        kept: the file as it lies there.
        expected: what would be written today.
        suffix: of the file: `.csv`, or `.json` for one object.
    """
    if kept == expected:
        return True
    try:
        if suffix == ".csv":
            return _table(kept) == _picked(_table(expected), _table(kept)[0])
        return _lacks_nothing_told(json.loads(kept), json.loads(expected))
    except (ValueError, IndexError, csv.Error):
        return False


def _lacks_nothing_told(old: Any, new: Any) -> bool:
    """Tell whether an object is another one without some of the fields that say nothing there: null, zero, or empty."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return bool(old == new)
    added = new.keys() - old.keys()
    return (
        old.keys() <= new.keys()
        and not any(map(new.get, added))
        and all(_lacks_nothing_told(old[k], new[k]) for k in old)
    )


def _table(content: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(content.decode("utf-8"), newline=""), strict=True))


def _picked(rows: list[list[str]], columns: Sequence[str]) -> list[list[str]]:
    """Return the rows with these columns alone.

    Raises:
        ValueError: there is no such column.
    """
    places = [rows[0].index(name) for name in columns]
    return [[row[i] for i in places] for row in rows]
