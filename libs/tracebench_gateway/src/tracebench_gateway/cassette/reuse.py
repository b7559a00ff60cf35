"""What earlier attempts at a run's jobs were answered: a job that was killed goes through its finished calls without paying again."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from pathlib import Path

from tracebench_core.errors import RunDirError
from tracebench_gateway.cassette.blobs import Blobs
from tracebench_gateway.cassette.player import Entry, entries, metered_as_kept
from tracebench_gateway.cassette.recorder import BLOBS_FOLDER, CALLS_FILE
from tracebench_gateway.exchange import ChatRequest, Reply

log = logging.getLogger(__name__)


class Finished:
    """The answered calls of a recording that goes on, as it was when this gateway started; failures are asked again."""

    def __init__(self, folder: Path) -> None:
        self._blobs = Blobs(folder / BLOBS_FOLDER)
        self._by_job: dict[str, dict[tuple[str, int], Entry]] = defaultdict(dict)
        path = folder / CALLS_FILE
        try:
            for entry in entries(path) if path.is_file() and path.stat().st_size else ():
                self.add(entry)
        except RunDirError as err:
            log.warning("every call is made anew: %s", err)
            self._by_job.clear()

    def add(self, entry: Entry) -> None:
        """Take over a line of the recording."""
        if "reply" in entry:
            self._by_job[entry["job_id"]].setdefault((entry["digest"], entry["occurrence"]), entry)

    def reply(self, request: ChatRequest) -> Reply | None:
        """Return what this job was answered to this request the same time it asked, at the cost of then; None where it was not."""
        entry = self._by_job.get(request.job_id, {}).get((request.digest, request.occurrence))
        if entry is None:
            return None
        try:
            content = json.loads(self._blobs.get(entry["reply"]))
        except RunDirError as err:
            log.warning("a call is made anew: %s", err)
            return None
        return Reply(content["message"], content["finish_reason"], metered=metered_as_kept(entry))

    def forget(self, job_id: str) -> None:
        """Drop a job that is finished."""
        self._by_job.pop(job_id, None)
