"""`llm/ledger.jsonl`: every call that was served, refused or failed, one line each, flushed as it ends."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tracebench_gateway.exchange import ChatRequest, Metered, ProviderError, Reply
from tracebench_gateway.server.metering.accounts import Accounts, Filed
from tracebench_gateway.turns import Place
from tracebench_runs.storage.escape import escaped
from tracebench_runs.storage.files import make_dir
from tracebench_runs.storage.sharing import open_file

LEDGER_VERSION = 1
MARKS = frozenset({"v", "t", "reused", "occurrence", "place", "key", "asker", "limit", "left_out", "overshoot"})
"""What a line of the ledger says beyond a job's record of the call."""


class Ledger:
    """The append-only file. Kinds of lines: `llm_call`, `clock` (training began), `anew` (scoring again), `release` (a job is done)."""

    def __init__(self, path: Path) -> None:
        make_dir(path.parent)
        self.path = path
        self._fd = open_file(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        size = os.fstat(self._fd).st_size
        if size and os.pread(self._fd, 1, size - 1) != b"\n":
            os.write(self._fd, b"\n")

    def append(self, kind: str, *, job_id: str, attempt: str, **fields: Any) -> None:
        """Write one line; it survives the death of this process."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"v": LEDGER_VERSION, "kind": kind, "t": now, "job_id": job_id, "attempt": attempt, **fields}
        os.write(self._fd, escaped(json.dumps(line, separators=(",", ":"), ensure_ascii=False)).encode() + b"\n")

    def restore(self, accounts: Accounts) -> None:
        """Bring accounts to where the ledger left them. Lines torn by a crash are skipped."""
        for line in read_ledger(self.path):
            kind, job_id, attempt = line.pop("kind"), line.pop("job_id"), line.pop("attempt")
            if kind == "release":
                accounts.release(job_id, attempt)
                continue
            account = accounts.account(job_id, attempt)
            if kind == "llm_call":
                record = {k: v for k, v in line.items() if k not in MARKS}
                accounts.file(account, record, is_paid=not line.get("reused"))
            if account is None:
                continue
            if kind == "clock":
                account.capped.clock = line["mono"]
            elif kind == "anew":
                account.score_anew()
            elif line["status"] != "refused":
                key, place = line.get("key", ""), line.get("place")
                account.restore_occurrence(
                    line["request_hash"], line.get("occurrence"), line["phase"], place=place and Place(*place), key=key
                )
                if key and line["status"] == "ok":
                    account.filed[key] = Filed(line["request_hash"], line.get("limit"))
                if asker := line.get("asker"):
                    account.turn(line["request_hash"], asker, line.get("occurrence") or 0)

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)


def marks_of(request: ChatRequest, outcome: Reply | ProviderError, metered: Metered) -> dict[str, Any]:
    """Return the marks of a call's line."""
    marks: dict[str, Any] = {"reused": True} if metered.reused else {}
    if request.is_shortened:
        marks["limit"] = request.limit
    if request.occurrence or request.key:
        marks["occurrence"] = request.occurrence
    if request.asker:
        marks["asker"] = request.asker
    if request.place:
        marks["place"] = list(request.place)
    if request.key:
        marks["key"] = request.key
    if left_out := request.left_out + (outcome.left_out if isinstance(outcome, Reply) else ()):
        marks["left_out"] = list(left_out)
    taken = metered.tokens.prompt + metered.tokens.completion
    if request.reserved is not None and taken > request.reserved and not metered.reused:
        marks["overshoot"] = taken - request.reserved
    return marks


def read_ledger(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the lines of a ledger in order, without those that a crash tore."""
    with path.open("rb") as lines:
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict) and "job_id" in entry:
                yield entry
