"""Reuses identical calls at temperature 0, within a run or between runs: an SQLite file that processes may share."""

from __future__ import annotations

import json
import sqlite3
import zlib
from pathlib import Path

from tracebench_gateway.exchange import ChatRequest, Reply

BUSY_SECONDS = 10.0


class CallCache:
    """Replies by request. Asking the same again at temperature 0 is taken to get the same answer, however often."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=OFF")  # a lost entry costs a call and nothing else
        self._db.execute("CREATE TABLE IF NOT EXISTS replies (request TEXT PRIMARY KEY, reply BLOB) WITHOUT ROWID")

    def get(self, request: ChatRequest) -> Reply | None:
        """Return the kept reply, or None: not kept, or not at temperature 0."""
        if not is_cacheable(request):
            return None
        row = self._db.execute("SELECT reply FROM replies WHERE request = ?", (_key(request),)).fetchone()
        if row is None:
            return None
        kept = json.loads(zlib.decompress(row[0]))
        return Reply(message=kept["message"], finish_reason=kept["finish_reason"])

    def put(self, request: ChatRequest, reply: Reply) -> None:
        """Keep a reply for the next identical call."""
        if is_cacheable(request):
            content = json.dumps({"message": reply.message, "finish_reason": reply.finish_reason})
            row = (_key(request), zlib.compress(content.encode()))
            self._db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", row)


def is_cacheable(request: ChatRequest) -> bool:
    """Tell whether the caller asked for temperature 0 itself, or the config did for it."""
    return request.sampling.get("temperature") == 0


def _key(request: ChatRequest) -> str:
    return f"{request.digest} {request.identity.base_url or ''}"
