"""Answers that their callers may not have: where a gateway is killed between the filing and the sending of one, the next one sends it.

A caller that numbers its calls names one by the same key when it asks again. Only of real models: what a stub or a recording answers can
be asked for again. One file for each attempt at a job, removed with it; of its answers the last are kept, and those before were delivered.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from tracebench_gateway.cassette.scorings import Kept, content_of, read_kept
from tracebench_gateway.exchange import ChatRequest, Metered, Reply
from tracebench_runs.storage.files import make_dir, write_whole
from tracebench_runs.storage.regular import open_regular
from tracebench_runs.storage.sharing import open_file

FOLDER = "undelivered"
MOST_KEPT = 256
"""Answers of one attempt; far more than it has calls under way at a time."""


class Undelivered:
    """The answers; on disk alone, as they are asked for after a death only."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / FOLDER
        self._written: Counter[Path] = Counter()
        self._before: dict[Path, set[str]] = {}
        """By file, the keys that it had when this process first looked."""
        self._read: tuple[Path, dict[tuple[str, str], list[Any]]] | None = None
        """The file that was asked last, as long as nothing is added: a request of many choices asks it as often."""

    def add(self, attempt: str, request: ChatRequest, reply: Reply, metered: Metered) -> None:
        """Keep an answer before its call is filed; it survives the death of this process."""
        if not request.key:
            return
        make_dir(self._folder)
        path, self._read = self._path(request.job_id, attempt), None
        self._keys_before(path)
        line = json.dumps([request.key, request.digest, *content_of(reply, metered)]).encode()
        fd = open_file(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        try:
            os.write(fd, b"\n" + line + b"\n")  # behind a line that a crash tore, too
        finally:
            os.close(fd)
        self._written[path] += 1
        if self._written[path] > 2 * MOST_KEPT:
            write_whole(path, b"\n".join([*_lines(path)[-MOST_KEPT:], b""]))
            self._written[path] = MOST_KEPT

    def is_of_before(self, attempt: str, request: ChatRequest) -> bool:
        """Tell whether an earlier process kept an answer to this very call."""
        return bool(request.key) and request.key in self._keys_before(self._path(request.job_id, attempt))

    def find(self, attempt: str, request: ChatRequest) -> Kept | None:
        """Return what this very call was answered; None where that was not kept."""
        path = self._path(request.job_id, attempt)
        if self._read is None or self._read[0] != path:
            self._read = path, {(key, digest): content for key, digest, content in _answers(path)}
        with suppress(KeyError, ValueError, TypeError):
            return read_kept(*self._read[1][request.key, request.digest])
        return None

    def forget(self, job_id: str, attempt: str) -> None:
        """Drop a job whose last attempt has ended, and those before it."""
        self._read = None
        for path in {self._path(job_id, attempt), *self._folder.glob(f"{job_id}.*.jsonl")}:
            self._written.pop(path, None)
            self._before.pop(path, None)
            path.unlink(missing_ok=True)

    def _keys_before(self, path: Path) -> set[str]:
        if path not in self._before:
            self._before[path] = {key for key, _, _ in _answers(path)}
        return self._before[path]

    def _path(self, job_id: str, attempt: str) -> Path:
        return self._folder / f"{job_id}.{attempt}.jsonl"


def _answers(path: Path) -> list[tuple[str, str, list[Any]]]:
    """Return key, digest and content of each line that no crash tore."""
    found = []
    for line in _lines(path):
        with suppress(ValueError, TypeError):
            key, digest, *content = json.loads(line)
            found.append((str(key), str(digest), content))
    return found


def _lines(path: Path) -> list[bytes]:
    try:
        with open_regular(path) as lines:
            return [line for line in lines.read().split(b"\n") if line]
    except OSError:
        return []
