"""The journal of a run, its root of trust: which jobs were declared finished, and what every file that nothing can rebuild looked like.

Each line carries its number `n`, gap-free from 0, its own `sum`, the digest of the line before it and a keyed sum, so that a changed,
lost, doubled or moved line is seen, also where somebody computed its sum anew. A line that a crash tore used up no number.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tracebench_core.specs import JobStatus
from tracebench_runs.journal.chain import Chain
from tracebench_runs.storage import files
from tracebench_runs.storage.clock import timestamp, utc_now
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.seal import GrowingFile, Seal


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
        self._chain = Chain(layout, layout.journal(worker))
        self._growing = {name: GrowingFile(path) for name, path in layout.growing().items()}
        self._sealed: dict[str, Seal] = {}
        self._turn = threading.Lock()

    def opened(self, meta: Mapping[str, Seal]) -> None:
        """Declare what the files of `meta/` hold, by their paths in the run directory. Flushed."""
        self._append({"kind": "opened", "files": {path: seal.as_json() for path, seal in meta.items()}})
        self._log.sync()
        self._chain.closed(anew=True)

    def job_started(self, job_id: str, *, is_trained: bool = False, leans: bool = False) -> None:
        """Note that a job is under way, from its beginning or from the end of its training. Not flushed.

        `leans`: it stands on processes of this runner, so nobody else knows whether its measurements are any.
        """
        more = {**({"phase": "score"} if is_trained else {}), **({"leans": True} if leans else {})}
        self._append({"kind": "job_started", "job": job_id, **more})

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

    def grown(self) -> None:
        """Vouch for how far the logs of the run have come. Flushed."""
        self._seal()
        self._log.sync()

    def indexed(self, index: Seal | None) -> None:
        """Vouch for the index of files, and for how far the logs of the run have come. Flushed."""
        self._seal()
        self._append({"kind": "indexed", "index": index.as_json() if index is not None else None})
        self._log.sync()
        self._chain.closed()

    def accepted(self, path: str, seal: Seal | None) -> None:
        """Keep that a person knows of the damage to a file, and takes it as it is now; None for a file that is gone. Flushed."""
        self._append({"kind": "accepted", "path": path, "now": seal.as_json() if seal is not None else None})
        self._log.sync()
        self._chain.accepted()

    def secret(self, purpose: str) -> str:
        """Return a secret for one purpose of the run that follows from the journal's key: whoever continues the run has the same."""
        return self._chain.secret(purpose)

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
            for each in (*self._chain.begin(), record):
                line = self._chain.line({"t": timestamp(utc_now()), **each})
                self._log.append(line)
                self._chain.written(line)
