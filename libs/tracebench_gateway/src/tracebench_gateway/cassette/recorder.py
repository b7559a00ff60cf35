"""Writes a recording: `calls.jsonl`, one line a call, and `blobs/` with the requests and replies."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tracebench_core.ids import canonical_json
from tracebench_gateway.cassette.blobs import Blobs
from tracebench_gateway.exchange import ChatRequest, Metered, ProviderError, Reply
from tracebench_runs.storage.escape import escaped
from tracebench_runs.storage.files import make_dir
from tracebench_runs.storage.sharing import open_file

CALLS_FILE, BLOBS_FOLDER = "calls.jsonl", "blobs"
CASSETTE_VERSION = 1
LONGEST_LINE = 1 << 20
"""Bytes; texts are in blobs, so that a line is far shorter."""


class Recorder:
    """Keeps every exchange of a run, failures included: a replay repeats them too."""

    def __init__(self, folder: Path) -> None:
        make_dir(folder)
        self._blobs = Blobs(folder / BLOBS_FOLDER)
        self._fd = open_file(folder / CALLS_FILE, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        _cut_torn_line(self._fd)
        if os.fstat(self._fd).st_size == 0:
            self._write({"cassette": CASSETTE_VERSION})

    def keep(self, request: ChatRequest, outcome: Reply | ProviderError, metered: Metered) -> dict[str, Any]:
        """Record one exchange and return its line; `reply` names the reply's blob, and a failure has none."""
        line: dict[str, Any] = {
            "job_id": request.job_id,
            "seed": request.seed,
            "role": request.role,
            "digest": request.digest,
            "occurrence": request.occurrence,
            "request": self._blobs.put(canonical_json(request_content(request))),
            "metered": asdict(metered),
        }
        if request.asker:
            line["asker"] = request.asker
        if request.is_shortened:
            line["limit"] = request.limit
        if isinstance(outcome, ProviderError):
            line["error"] = {"kind": outcome.kind, "message": str(outcome), "status_code": outcome.status_code}
        else:
            line["reply"] = self._blobs.put(reply_content(outcome))
        self._write(line)
        return line

    def _write(self, line: dict[str, object]) -> None:
        os.write(self._fd, escaped(json.dumps(line, separators=(",", ":"), ensure_ascii=False)).encode() + b"\n")


def _cut_torn_line(fd: int) -> None:
    """Remove what a crash left of a last line: its call was never answered, and a reader trusts every line but the last."""
    size = os.fstat(fd).st_size
    tail = os.pread(fd, LONGEST_LINE, max(0, size - LONGEST_LINE))
    if tail and not tail.endswith(b"\n"):
        os.ftruncate(fd, size - len(tail) + tail.rfind(b"\n") + 1)


def reply_content(reply: Reply) -> bytes:
    """Return what is kept of a reply; its SHA-256 is the reply's hash."""
    return canonical_json({"message": reply.message, "finish_reason": reply.finish_reason})


def request_content(request: ChatRequest) -> dict[str, object]:
    """Return what the digest of a request stands for, in words; its address is left out."""
    identity = {"provider": request.identity.provider, "model": request.identity.model}
    content: dict[str, object] = {"model": identity, "role": request.role}
    content |= {"messages": request.messages, "sampling": request.sampling}
    return content if request.kind == "chat" else content | {"kind": request.kind}
