"""The journal of a run, its root of trust: which jobs were declared finished, and what every file that nothing can rebuild looked like.

Each line carries its number `n`, gap-free from 0, and `sum`, the first 16 hex digits of the SHA-256 of the line before it, so that a
changed, lost, doubled or moved line is seen. A line that a crash tore used up no number. Journals of older versions have neither.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_core.specs import JobStatus
from tracebench_core.store import files
from tracebench_core.store.clock import timestamp, utc_now
from tracebench_core.store.layout import RunLayout
from tracebench_core.store.regular import open_regular
from tracebench_core.store.seal import GrowingFile, Seal

_SUM = b',"sum":"'
_SUM_DIGITS = 16
_END_DIGITS = len(_SUM) + _SUM_DIGITS + len(b'"}')
_TAIL = 1 << 16
"""Bytes at the end of a journal in which its last sound line is looked for first."""


class EndRecord(NamedTuple):
    """One job declared finished."""

    job_id: str
    status: JobStatus
    digest: str = ""
    """SHA-256 of the `results.json` that it commits, empty when it was not named."""
    events: Seal | None = None
    """Of the job's `events.jsonl`; None in journals of older versions."""


@dataclass(frozen=True, slots=True)
class TrainedRecord:
    """One job whose training is over, and whose scoring is not."""

    events: Seal
    """Of the job's `events.jsonl`, up to the end of training."""
    ended: str = ""
    """How the training process ended that could not say it itself (`timeout`, or words)."""
    attempt: str = ""
    """By which the ledger knows the attempt; empty where no model is asked."""


class Journal:
    """`journal-<worker>.jsonl`, append-only, with one writing process, whose threads take turns.

    Opening it creates it; the first append mends a torn last line.
    """

    def __init__(self, run_dir: Path | RunLayout, worker: str = "main") -> None:
        layout = run_dir if isinstance(run_dir, RunLayout) else RunLayout(run_dir)
        self._layout = layout
        self._log = files.AppendLog(layout.journal(worker))
        self._next = _next_number(layout.journal(worker))
        self._growing = {name: GrowingFile(path) for name, path in layout.growing().items()}
        self._sealed: dict[str, Seal] = {}
        self._turn = threading.Lock()

    def opened(self, meta: Mapping[str, Seal]) -> None:
        """Declare what the files of `meta/` hold, by their paths in the run directory. Flushed."""
        self._append({"kind": "opened", "files": {path: seal.as_json() for path, seal in meta.items()}})
        self._log.sync()

    def job_started(self, job_id: str, *, is_trained: bool = False) -> None:
        """Note that a job is under way, from its beginning or from the end of its training. Not flushed: nothing depends on it."""
        self._append({"kind": "job_started", "job": job_id, **({"phase": "score"} if is_trained else {})})

    def job_trained(self, job_id: str, trained: TrainedRecord) -> None:
        """Note that a job's training is over. Not flushed: lost with the events that it seals, it costs a second training."""
        told = {"ended": trained.ended, "attempt": trained.attempt}
        self._append({"kind": "job_trained", "job": job_id, "events": trained.events.as_json(), **told})

    def job_finished(self, job_id: str, status: JobStatus, *, digest: str = "") -> None:
        """Declare a job finished, durably. Its `results.json` must be durable already; `digest` is its SHA-256."""
        self.jobs_finished([EndRecord(job_id, status, digest)])

    def jobs_finished(self, ends: Iterable[EndRecord]) -> None:
        """Declare several jobs finished, and how far the logs of the run have come, with one flush to disk."""
        written = False
        for end in ends:
            record = {"kind": "job_finished", "job": end.job_id, "status": end.status, "digest": end.digest}
            self._append(record | ({"events": end.events.as_json()} if end.events is not None else {}))
            written = True
        if written:
            self._seal()
            self._log.sync()

    def settled(self) -> None:
        """Note that this run's files are as they should be, on this start of the machine. Not flushed: a power cut must undo it."""
        self._append({"kind": "settled", "boot": files.boot_id()})

    def run_ended(self, **end: Any) -> None:
        """Keep how this process of the run ended. Flushed by `indexed`, which follows."""
        self._append({"kind": "run_ended", **end})

    def indexed(self, index: Seal | None) -> None:
        """Vouch for the index of files, and for how far the logs of the run have come. Flushed."""
        self._seal()
        self._append({"kind": "indexed", "index": index.as_json() if index is not None else None})
        self._log.sync()

    def accepted(self, path: str, seal: Seal | None) -> None:
        """Keep that a person knows of the damage to a file, and takes it as it is now; None for a file that is gone. Flushed."""
        self._append({"kind": "accepted", "path": path, "now": seal.as_json() if seal is not None else None})
        self._log.sync()

    def close(self) -> None:
        """Close the journal. Idempotent."""
        self._log.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _seal(self) -> None:
        seals = {name: seal for name, file in self._growing.items() if (seal := file.seal()) is not None}
        if seals != self._sealed:
            self._append({"kind": "sealed", "files": {name: seal.as_json() for name, seal in seals.items()}})
            self._sealed = seals

    def _append(self, record: dict[str, Any]) -> None:
        with self._turn:
            self._log.append(encode({"n": self._next, "t": timestamp(utc_now()), **record}))
            self._next += 1


def encode(record: Mapping[str, Any]) -> bytes:
    """Return a record as a line that vouches for itself."""
    plain = json.dumps(record, separators=(",", ":")).encode()[:-1]
    return plain + _SUM + sum_of(plain).encode() + b'"}'


def has_sum(line: bytes) -> bool:
    """Say whether a line claims to vouch for itself."""
    return _SUM in line


def is_sound(line: bytes) -> bool:
    """Say whether a line is as it was written."""
    plain, end = line[:-_END_DIGITS], line[-_END_DIGITS:]
    return end.startswith(_SUM) and end == _SUM + sum_of(plain).encode() + b'"}'


def sum_of(plain: bytes) -> str:
    """Return the sum of a line, of which `plain` is what stands before it."""
    return hashlib.sha256(plain + b"}").hexdigest()[:_SUM_DIGITS]


def sum_at(line: bytes) -> str:
    """Return the sum that a sound line ends with."""
    return line[-_END_DIGITS + len(_SUM) : -len(b'"}')].decode("latin-1")


def number_of(record: Any) -> int | None:  # JSON as it was read
    """Return the number of a record; None where it has none that a journal can have given."""
    number = record.get("n") if isinstance(record, dict) else None
    return number if type(number) is int and number >= 0 else None


def last_sound_line(journal: Path) -> bytes | None:
    """Return the last line that is as it was written, with a number; None where there is none."""
    with open_regular(journal) as content:
        content.seek(max(0, content.seek(0, os.SEEK_END) - _TAIL))
        tail = content.read().split(b"\n")
    for lines in (tail, files.read_lines(journal).lines):  # a line that the tail begins within is not sound
        for line in reversed(lines):
            if is_sound(line) and number_of(json.loads(line)) is not None:
                return line
    return None


def _next_number(journal: Path) -> int:
    """Return the number of the next line: one more than that of the last sound one, else the number of lines."""
    line = last_sound_line(journal)
    number = number_of(json.loads(line)) if line is not None else None
    return number + 1 if number is not None else len(files.read_lines(journal).lines)
