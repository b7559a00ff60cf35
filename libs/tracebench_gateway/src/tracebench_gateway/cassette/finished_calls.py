"""What earlier attempts at a run's jobs were answered: a job that was killed goes through its finished calls without paying again."""

from __future__ import annotations

import json
import logging
from bisect import insort
from collections import defaultdict
from operator import itemgetter
from pathlib import Path

from tracebench_core.errors import RunDirError
from tracebench_gateway.cassette.blobs import Blobs
from tracebench_gateway.cassette.player import Entry, entries, metered_as_kept
from tracebench_gateway.cassette.recorder import BLOBS_FOLDER, CALLS_FILE
from tracebench_gateway.exchange import ChatRequest, Reply

log = logging.getLogger(__name__)


class FinishedCalls:
    """The answered calls of a recording that goes on, as it was when this gateway started; failures are asked again."""

    def __init__(self, folder: Path) -> None:
        self._blobs = Blobs(folder / BLOBS_FOLDER)
        self._by_job: dict[str, dict[tuple[str, int], Entry]] = defaultdict(dict)
        self._by_asker: dict[str, dict[tuple[str, str], list[Entry]]] = defaultdict(lambda: defaultdict(list))
        path = folder / CALLS_FILE
        try:
            for entry in entries(path) if path.is_file() and path.stat().st_size else ():
                self.add(entry)
        except RunDirError as err:
            log.warning("every call is made anew: %s", err)
            self._by_job.clear()
            self._by_asker.clear()

    def add(self, entry: Entry) -> None:
        """Take over a line of the recording."""
        job_id, place = entry["job_id"], (entry["digest"], entry["occurrence"])
        if "reply" not in entry or place in self._by_job[job_id]:
            return
        self._by_job[job_id][place] = entry
        if "asker" in entry:
            insort(self._by_asker[job_id][entry["digest"], entry["asker"]], entry, key=itemgetter("occurrence"))

    def reply(self, request: ChatRequest) -> Reply | None:
        """Return what this job was answered to this request the same time it asked, at the cost of then; None where it was not.

        Of an evaluation it is the same evaluation that has to have asked, in whatever order several arrived.
        """
        entry = self._by_job.get(request.job_id, {}).get((request.digest, request.occurrence))
        if request.asker and (entry is None or "asker" in entry):
            own = self._by_asker.get(request.job_id, {}).get((request.digest, request.asker), [])
            entry = own[request.turn] if request.turn < len(own) else None
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
        self._by_asker.pop(job_id, None)
