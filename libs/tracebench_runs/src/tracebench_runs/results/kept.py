"""Tables that lie there as the journal vouches for them, and are not made anew where nothing happened to their run since."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tracebench_runs.journal.index import is_index_known
from tracebench_runs.journal.trust import Trust
from tracebench_runs.meta.salt_files import read_salts
from tracebench_runs.results.leaderboard import COLUMNS as LEADERBOARD_COLUMNS
from tracebench_runs.results.rows import COLUMNS
from tracebench_runs.results.summary import RunEnd, ended_otherwise
from tracebench_runs.results.tables import header
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import read_whole
from tracebench_runs.storage.seal import Seal, seal_of
from tracebench_runs.storage.sharing import readers

MANY = 2000
"""Jobs of a run; the tables of one with fewer are soon made."""


def vouched_tables(layout: RunLayout, tables: Sequence[Path], *, trust: Trust) -> dict[Path, bytes] | None:
    """Return tables as they were when the run came to its end, None where the journal does not vouch for all of them.

    It vouches for the index of files, and that for the tables. What happened to the run since is in neither.
    """
    return {path: read_whole(path) for path in tables} if _are_vouched(layout, tables, trust=trust) else None


def are_kept(layout: RunLayout, end: RunEnd, *, trust: Trust, counts: Mapping[str, int]) -> bool:
    """Leave the tables of a run of many jobs as they are, and have its summary tell how it `end`s this time; say whether that was done.

    Only who holds the run's lock, and has seen that all of its jobs' results are what the journal declared, may. `counts` are its jobs
    by status. Tables that are not vouched for, have other columns than today's, or tell of logs for TensorBoard that came or went, are
    to be made anew.
    """
    if sum(counts.values()) <= MANY:
        return False
    told = [layout.results_csv, layout.leaderboard_csv, layout.summary, *[p for p in [layout.ledger] if p.exists()]]
    if not _are_vouched(layout, told, trust=trust):
        return False
    rows = read_whole(layout.results_csv)
    board = read_whole(layout.leaderboard_csv)
    if not (rows.startswith(header(COLUMNS)) and board.startswith(header(LEADERBOARD_COLUMNS))):
        return False
    above = os.path.join(layout.jobs, "")  # noqa: PTH118 - text: there are many
    if {*_with_logs(rows)} != {job for job in layout.job_ids() if os.path.isdir(f"{above}{job}/tb")}:  # noqa: PTH112 - as above
        return False
    salts = None if readers(layout.path) else read_salts(layout.salts)
    summary = ended_otherwise(read_whole(layout.summary), end, counts=counts, salts=salts)
    if summary is None:
        return False
    files.write_whole(layout.summary, summary)
    return True


def _with_logs(rows: bytes) -> Iterator[str]:
    """Yield the jobs that a table has logs for TensorBoard of."""
    if b"/tb," in rows:
        for row in csv.DictReader(io.StringIO(rows.decode(errors="backslashreplace"), newline="")):
            if row["tb_logdir"]:
                yield row["job_id"]


def _are_vouched(layout: RunLayout, paths: Sequence[Path], *, trust: Trust) -> bool:
    is_at_rest = trust.index is not None and not trust.begun_since and not trust.damage and len(layout.journals()) == 1
    if not is_at_rest or not is_index_known(layout, trust=trust):
        return False
    names = {path.relative_to(layout.path).as_posix(): path for path in paths}
    listed = dict(_listed(layout, names))
    return listed.keys() == {*paths} and all(seal_of(path) == seal for path, seal in listed.items())


def _listed(layout: RunLayout, names: Mapping[str, Path]) -> Iterator[tuple[Path, Seal]]:
    """Yield what the index says of some files; it has a line for each file, and may have a million."""
    starts = tuple(b'    {"path": %s,' % json.dumps(name).encode() for name in names)
    for line in files.iter_lines(layout.files_index):
        if line.startswith(starts):
            entry = json.loads(line.rstrip(b","))
            yield names[entry["path"]], Seal(entry["size"], entry["sha256"])
