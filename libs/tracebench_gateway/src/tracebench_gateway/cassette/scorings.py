"""What scorings under way were answered: one that is cut short and done again goes through its finished calls without paying again.

Only of runs that are not recorded, whose recording holds this and more. An answer is given again to the same request of the same job at the
same place in its order. The file holds answers of jobs whose scoring is not declared over, and is removed with the last of them.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from tracebench_gateway.exchange import ChatRequest, Metered, Reply
from tracebench_runs.storage.files import make_dir
from tracebench_runs.storage.regular import open_regular
from tracebench_runs.storage.sharing import open_file

SCORINGS_FILE = "scorings.jsonl"
_METERED = TypeAdapter(Metered)


class Kept(NamedTuple):
    """One answer and what it had cost."""

    message: dict[str, Any]
    finish_reason: str
    metered: Metered


def content_of(reply: Reply, metered: Metered) -> tuple[Any, ...]:
    """Return an answer and what it cost as JSON holds them."""
    return reply.message, reply.finish_reason, asdict(metered)


def read_kept(message: Any, finish_reason: Any, metered: Any) -> Kept:
    """Return what `content_of` made.

    Raises:
        ValueError: where it is something else; `TypeError` as well.
    """
    return Kept(dict(message), str(finish_reason), _METERED.validate_python(metered))


class Scorings:
    """The answers of scorings under way, by job, request and occurrence; in memory, and on disk for the next gateway."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / SCORINGS_FILE
        self._fd = -1
        self._by_job: dict[str, dict[tuple[str, int], Kept]] = defaultdict(dict)
        for job_id, place, kept in _read(self._path):
            self._by_job[job_id].setdefault(place, kept)

    def reply(self, request: ChatRequest) -> Reply | None:
        """Return what this job was answered to this request the same time it asked; None where it was not."""
        kept = self._by_job.get(request.job_id, {}).get((request.digest, request.occurrence))
        return None if kept is None else Reply(kept.message, kept.finish_reason, metered=kept.metered)

    def add(self, request: ChatRequest, reply: Reply, metered: Metered) -> None:
        """Keep an answer, before its caller has it: it survives the death of this process, and of the caller's."""
        if self._fd < 0:
            make_dir(self._path.parent)
            self._fd = open_file(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        place = request.digest, request.occurrence
        self._by_job[request.job_id].setdefault(place, Kept(reply.message, reply.finish_reason, metered))
        line = [request.job_id, *place, *content_of(reply, metered)]
        os.write(self._fd, b"\n" + json.dumps(line).encode() + b"\n")  # behind a line that a crash tore, too

    def forget(self, job_id: str) -> None:
        """Drop a job that is finished."""
        if self._by_job.pop(job_id, None) is None or self._by_job:
            return
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._path.unlink(missing_ok=True)


def _read(path: Path) -> list[tuple[str, tuple[str, int], Kept]]:
    """Return the answers of a file, without lines that a crash tore."""
    found = []
    try:
        with open_regular(path) as lines:
            for line in lines:
                try:
                    job_id, digest, occurrence, *content = json.loads(line)
                    found.append((str(job_id), (str(digest), int(occurrence)), read_kept(*content)))
                except (ValueError, TypeError):
                    continue
    except OSError:
        return []
    return found
