"""How a run of many jobs stands, from its tables: as they lie there where the journal vouches for them, else made anew from the results."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tracebench_core.specs import JobSpec
from tracebench_runs.journal.index import is_index_known
from tracebench_runs.journal.trust import Trust
from tracebench_runs.results.tables import TableWriter, read_end
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import read_whole
from tracebench_runs.storage.seal import Seal, seal_of


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


def vouched_tables(layout: RunLayout, tables: Sequence[Path], *, trust: Trust) -> dict[Path, bytes] | None:
    """Return tables as they were when the run came to its end, None where the journal does not vouch for all of them.

    It vouches for the index of files, and that for the tables. What happened to the run since is in neither.
    """
    is_at_rest = trust.index is not None and not trust.begun_since and not trust.damage and len(layout.journals()) == 1
    if not is_at_rest or not is_index_known(layout, trust=trust):
        return None
    names = {path.relative_to(layout.path).as_posix(): path for path in tables}
    listed = dict(_listed(layout, names))
    if listed.keys() != {*tables} or any(seal_of(path) != seal for path, seal in listed.items()):
        return None
    return {path: read_whole(path) for path in tables}


def _listed(layout: RunLayout, names: Mapping[str, Path]) -> Iterator[tuple[Path, Seal]]:
    """Yield what the index says of some files; it has a line for each file, and may have a million."""
    starts = tuple(b'    {"path": %s,' % json.dumps(name).encode() for name in names)
    for line in files.iter_lines(layout.files_index):
        if line.startswith(starts):
            entry = json.loads(line.rstrip(b","))
            yield names[entry["path"]], Seal(entry["size"], entry["sha256"])


def _overview(board: bytes, summary: bytes) -> Overview:
    told = json.loads(summary)
    return Overview(
        counts={status: n for status, n in told["counts"].items() if n},
        board=[*csv.DictReader(io.StringIO(board.decode(errors="backslashreplace"), newline=""))],
        spent=told["spent"],
    )
