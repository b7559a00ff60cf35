"""How a run of many jobs stands, from its tables: as they lie there where the journal vouches for them, else made anew from the results."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tracebench_core.specs import JobSpec
from tracebench_runs.journal.trust import Trust
from tracebench_runs.results.kept import vouched_tables
from tracebench_runs.results.tables import TableWriter, read_end
from tracebench_runs.storage.layout import RunLayout


@dataclass(frozen=True, slots=True)
class Overview:
    """A run without its jobs."""

    counts: dict[str, int]
    """Jobs by status; of those that there are."""
    board: list[dict[str, str]]
    """The lines of `leaderboard.csv`, by column."""
    spent: dict[str, Any] | None
    """As `Run.spent` tells it."""


def read_overview(layout: RunLayout, jobs: Sequence[JobSpec], *, trust: Trust) -> Overview:
    """Return how a run stands.

    Raises:
        RunDirError: when a result had to be read, and is not what the journal vouches for.
    """
    tables = vouched_tables(layout, (layout.leaderboard_csv, layout.summary), trust=trust)
    if tables is not None:
        return _overview(tables[layout.leaderboard_csv], tables[layout.summary])
    writer = TableWriter(layout, jobs, trust=trust)
    writer.load()
    writer.complete()
    made = writer.render(read_end(layout, trust=trust))
    return _overview(made[layout.leaderboard_csv], made[layout.summary])


def _overview(board: bytes, summary: bytes) -> Overview:
    told = json.loads(summary)
    return Overview(
        counts={status: n for status, n in told["counts"].items() if n},
        board=[*csv.DictReader(io.StringIO(board.decode(errors="backslashreplace"), newline=""))],
        spent=told["spent"],
    )
