"""The journal of one writer: which jobs it declared finished. Its end records are the commit points that resume trusts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from tracebench_core.specs import JobStatus
from tracebench_core.store import files
from tracebench_core.store.clock import timestamp, utc_now
from tracebench_core.store.layout import RunLayout

_STATUSES = frozenset(get_args(JobStatus))


@dataclass(frozen=True, slots=True)
class EndRecord:
    """One job declared finished. `digest` is the SHA-256 of the `results.json` that it commits, empty when it was not named."""

    job_id: str
    status: JobStatus
    digest: str = ""


class Journal:
    """`journal-<worker>.jsonl`, append-only, with one writer. Opening it creates it and mends a torn last line."""

    def __init__(self, run_dir: Path | RunLayout, worker: str = "main") -> None:
        layout = run_dir if isinstance(run_dir, RunLayout) else RunLayout(run_dir)
        self._log = files.AppendLog(layout.journal(worker))

    def job_started(self, job_id: str) -> None:
        """Note that a job is under way. Not flushed: nothing depends on it."""
        self._append({"kind": "job_started", "job": job_id})

    def job_finished(self, job_id: str, status: JobStatus, *, digest: str = "") -> None:
        """Declare a job finished, durably. Its `results.json` must be durable already; `digest` is its SHA-256."""
        self.jobs_finished([EndRecord(job_id, status, digest)])

    def jobs_finished(self, ends: Iterable[EndRecord]) -> None:
        """Declare several jobs finished with one flush to disk."""
        written = False
        for end in ends:
            self._append({"kind": "job_finished", "job": end.job_id, "status": end.status, "digest": end.digest})
            written = True
        if written:
            self._log.sync()

    def settled(self) -> None:
        """Note that this run's files are as they should be, on this start of the machine. Not flushed: a power cut must undo it."""
        self._append({"kind": "settled", "boot": files.boot_id()})

    def close(self) -> None:
        """Close the journal. Idempotent."""
        self._log.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _append(self, record: dict[str, Any]) -> None:
        stamped = {"t": timestamp(utc_now()), **record}
        self._log.append(json.dumps(stamped, separators=(",", ":")).encode())


def end_records(run_dir: Path | RunLayout) -> dict[str, EndRecord]:
    """Read every journal of a run and return each job's end record.

    A job that was run again has several: the one with the latest time counts, and of equal times the last in the order of file and
    line. Lines that do not parse are skipped.
    """
    layout = run_dir if isinstance(run_dir, RunLayout) else RunLayout(run_dir)
    latest: dict[str, tuple[str, JobStatus, str]] = {}
    for path in layout.journals():
        ends = [line for line in files.read_lines(path).lines if b'"job_finished"' in line]
        for record in _parse(ends):
            try:
                at, job, status, digest = record["t"], record["job"], record["status"], record["digest"]
                if status in _STATUSES and (job not in latest or at >= latest[job][0]):
                    latest[job] = (at, status, str(digest))
            except (TypeError, KeyError):
                continue
    return {job: EndRecord(job, status, digest) for job, (_, status, digest) in latest.items()}


def is_settled(run_dir: Path | RunLayout) -> bool:
    """Say whether a journal was settled since the machine started: then nothing that was written can have been lost."""
    layout = run_dir if isinstance(run_dir, RunLayout) else RunLayout(run_dir)
    boot = files.boot_id()
    for path in layout.journals():
        lines = [line for line in files.read_lines(path).lines if b'"settled"' in line]
        if boot and any(isinstance(r, dict) and r.get("boot") == boot for r in _parse(lines)):
            return True
    return False


def finished_jobs(run_dir: Path | RunLayout) -> dict[str, JobStatus]:
    """Return the status of every job that a journal declares finished."""
    return {job_id: end.status for job_id, end in end_records(run_dir).items()}


def _parse(lines: list[bytes]) -> Iterator[Any]:
    """Yield the records that parse; all at once when every line does, which is several times faster."""
    try:
        yield from json.loads(b"[" + b",".join(lines) + b"]")
    except ValueError:
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:
                continue
