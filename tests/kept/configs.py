"""What is said of each config of `benchmarks/broken_configs.py`, with its hints."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from benchmarks.broken_configs import Told, cases, tell

from tracebench_engine.builtin.hosting import open_host


def configs() -> dict[str, list[str]]:
    """Return what is said now, by what is broken."""
    with tempfile.TemporaryDirectory() as folder:
        host = open_host()
        return said(tell(case, Path(folder), host) for case in cases())


def said(told: Iterable[Told]) -> dict[str, list[str]]:
    """Return the lines of messages and hints, by what is broken."""
    found: dict[str, list[str]] = defaultdict(list)
    for each in told:
        found[f"{each.case.name} {each.case.field or ''}"] += [*each.message.splitlines(), *each.hints]
    return found
