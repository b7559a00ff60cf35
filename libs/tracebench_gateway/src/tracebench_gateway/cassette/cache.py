"""Reuses identical calls at temperature 0, within a run or between runs: an SQLite file that processes may share."""

from __future__ import annotations

import json
import logging
import sqlite3
import zlib
from pathlib import Path

from tracebench_gateway.exchange import ChatRequest, Reply

BUSY_SECONDS = 10.0
log = logging.getLogger(__name__)


class CallCache:
    """Replies by request. Asking the same again at temperature 0 is taken to get the same answer, however often.

    A file that cannot be read or written (a full disk, a lock that stays, damage) fails no call: the model is asked.
    """

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
        try:
            row = self._db.execute("SELECT reply FROM replies WHERE request = ?", (_key(request),)).fetchone()
            kept = None if row is None else json.loads(zlib.decompress(row[0]))
        except (sqlite3.Error, zlib.error, ValueError, TypeError) as err:
            log.warning("a kept reply is not used: %s", err)
            return None
        return None if kept is None else Reply(message=kept["message"], finish_reason=kept["finish_reason"])

    def put(self, request: ChatRequest, reply: Reply) -> None:
        """Keep a reply for the next identical call."""
        if is_cacheable(request):
            content = json.dumps({"message": reply.message, "finish_reason": reply.finish_reason})
            row = (_key(request), zlib.compress(content.encode()))
            try:
                self._db.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", row)
            except sqlite3.Error as err:
                log.warning("a reply is not kept: %s", err)


def is_cacheable(request: ChatRequest) -> bool:
    """Tell whether the caller asked for temperature 0 itself, or the config did for it."""
    return request.sampling.get("temperature") == 0


def _key(request: ChatRequest) -> str:
    return f"{request.digest} {request.identity.base_url or ''}"
