"""The tables of a run, derived from its jobs' results: `results.csv`, `leaderboard.csv`, `summary.json`."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobResult, JobSpec
from tracebench_runs.events.reduce import not_run
from tracebench_runs.events.spent import LedgerReader, spent_of
from tracebench_runs.journal.trust import Trust
from tracebench_runs.meta.planned import chosen_of, ids_of, series_of
from tracebench_runs.meta.salt_files import read_salts
from tracebench_runs.results.leaderboard import COLUMNS as LEADERBOARD_COLUMNS
from tracebench_runs.results.leaderboard import standings
from tracebench_runs.results.results import read_result, trusted_result
from tracebench_runs.results.rows import COLUMNS, GroupKey, Row, group_of, make_row, sharing
from tracebench_runs.results.summary import RunEnd, summary_bytes
from tracebench_runs.storage import files
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.regular import read_whole
from tracebench_runs.storage.sharing import readers

INTERVAL = 1.0
"""Seconds between two rewrites while the run is under way, at the least."""
SHARE = 0.05
"""Part of the time that rewriting may take; with many jobs it is this that sets the interval."""
MOST_SHARED = 4096
"""Values that rows have in common, at most."""
PIECE = 1 << 18
"""Bytes of a table that are held at once while it is written, about."""


class TableWriter:
    """Keeps one small row per job and rewrites the tables whole, each atomically, now and then.

    Rows stand in plan order. While the run is under way only jobs that ended have one; `finish` adds the rest as `not_run`.
    """

    def __init__(
        self,
        layout: RunLayout,
        jobs: Sequence[JobSpec],
        *,
        trust: Trust | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """With `trust`, a result that it does not vouch for is refused when it is read; `clock` says how long writing takes, in seconds."""
        self._clock = clock
        self._layout = layout
        self._trust = trust
        self._jobs = jobs
        self._run_id = layout.run_id
        self._rows: dict[str, Row] = {}
        self._groups: dict[GroupKey, GroupKey] = {}
        self._shared: dict[Any, Any] = {}
        self._next_write = float("-inf")
        self._is_stale = True
        self._unread: Iterator[tuple[JobSpec, GroupKey]] = iter(())
        self._is_read = True
        self._ledger = LedgerReader(layout.ledger)

    def add(self, job: JobSpec, result: JobResult) -> None:
        """Take the result of a job; it replaces an earlier one of that job."""
        self._add(job, result, group_of(job))

    def load(self, job_ids: Iterable[str] | None = None) -> None:
        """Have the results that are on disk read, of the given jobs or of all; a job whose result cannot be read is left out.

        They are read when a table needs them, and until then for a second at a time: a resumed run may have 100,000, and its jobs do not
        wait for them.
        """
        wanted = None if job_ids is None else frozenset(job_ids)
        self._unread = (
            (part.job(i), group)
            for part in series_of(self._jobs)
            for group in [group_of(part.like)]
            for i, job_id in enumerate(part.ids)
            if (wanted is None or job_id in wanted) and job_id not in self._rows  # not run again since
        )
        self._is_read = False

    def maybe_write(self, now: float) -> bool:
        """Rewrite the tables when something changed and it is time; `now` is monotonic, in seconds. Return whether they were written."""
        if not self._is_stale or now < self._next_write:
            return False
        started = self._clock()
        self._read(until=started + INTERVAL)
        if not self._is_read:
            return False
        self._write(RunEnd(), durable=False)
        self._next_write = now + max(INTERVAL, (self._clock() - started) / SHARE)
        return True

    def render(self, end: RunEnd) -> dict[Path, bytes]:
        """Return the content of every table as it would be written now."""
        return {path: b"".join(pieces) for path, pieces in self._pieces(end).items()}

    def _pieces(self, end: RunEnd) -> dict[Path, Iterable[bytes]]:
        self._read()
        self._ledger.read()
        found = (self._rows[job_id] for job_id in ids_of(self._jobs) if job_id in self._rows)
        rows = [row if (spent := self._ledger.of(row.job_id)) is None else replace(row, spent=spent) for row in found]
        board = [standing.line() for standing in standings(rows)]
        layout = self._layout
        return {
            layout.results_csv: _together(header(COLUMNS), (row.csv for row in rows)),
            layout.leaderboard_csv: [b"".join([header(LEADERBOARD_COLUMNS), *board])],
            layout.summary: [
                summary_bytes(
                    rows,
                    run_id=self._run_id,
                    jobs=len(self._jobs),
                    end=end,
                    spent=spent_of(self._ledger),
                    salts=None if readers(layout.path) else read_salts(layout.salts),
                )
            ],
        }

    def complete(self) -> None:
        """Give every planned job without a result a row that says `not_run`."""
        self._read()
        for job in chosen_of(self._jobs, lambda job_id: job_id not in self._rows):
            self.add(job, not_run(job))

    def finish(self, end: RunEnd) -> None:
        """Write the tables for good, with every planned job."""
        self.complete()
        self._write(end, durable=True)

    def forget(self) -> None:
        """Let go of the rows: a run may have 100,000, and what comes after its tables needs memory, too."""
        self._rows.clear()
        self._shared.clear()
        self._unread, self._is_read = iter(()), True

    def _read(self, until: float = math.inf) -> None:
        while not self._is_read and self._clock() < until:
            job, group = next(self._unread, (None, None))
            if job is None or group is None:
                self._is_read = True
                break
            result = self._result(job)
            if result is not None:
                self._add(job, result, group)

    def _result(self, job: JobSpec) -> JobResult | None:
        layout = self._layout.job(job.job_id)
        if self._trust is not None:
            return trusted_result(layout, trust=self._trust)
        try:
            return read_result(layout).result
        except RunDirError:
            return None

    def _add(self, job: JobSpec, result: JobResult, group: GroupKey) -> None:
        tb = f"jobs/{job.job_id}/tb" if self._layout.job(job.job_id).tensorboard.is_dir() else ""
        group = self._groups.setdefault(group, group)  # one key for all seeds: a run may have 100,000 rows
        row = make_row(job, result, group=group, run_id=self._run_id, tb_logdir=tb)
        self._rows[job.job_id] = sharing(row, self._share)
        self._is_stale = True

    def _share(self, value: Any) -> Any:
        """Return an equal value that another row has, else this one."""
        return (
            self._shared.setdefault(value, value) if len(self._shared) < MOST_SHARED else self._shared.get(value, value)
        )

    def _write(self, end: RunEnd, *, durable: bool) -> None:
        for path, pieces in self._pieces(end).items():
            files.write_whole(path, pieces, durable=durable)
        self._is_stale = False


def _together(first: bytes, lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines, many at a time, without holding all of them: a run may have 100,000."""
    text = bytearray(first)
    for line in lines:
        text += line
        if len(text) >= PIECE:
            yield bytes(text)
            text.clear()
    yield bytes(text)


def header(columns: Iterable[str]) -> bytes:
    """Return the first line of a table."""
    return ",".join(columns).encode() + b"\n"


def expected_tables(layout: RunLayout, jobs: Sequence[JobSpec], *, trust: Trust) -> dict[Path, bytes]:
    """Return the tables as the results on disk demand them; how the run ended is told by the journal, else by the summary."""
    writer = TableWriter(layout, jobs)
    writer.load()
    writer.complete()
    return writer.render(read_end(layout, trust=trust))


def read_end(layout: RunLayout, *, trust: Trust) -> RunEnd:
    """Return how the run ended; all None when that cannot be told."""
    try:
        told = trust.run_end or json.loads(read_whole(layout.summary))
        return RunEnd(told["exit_code"], told["wall_seconds"], told["cpu_seconds"], told.get("overshoot"))
    except (OSError, ValueError, TypeError, KeyError):
        return RunEnd()
