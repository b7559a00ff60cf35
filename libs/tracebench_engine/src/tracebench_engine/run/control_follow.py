"""Follow a run from its directory alone: its journal and results drive the same views that the runner drives."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from tracebench_core.contracts import Reporter
from tracebench_core.errors import RunDirError
from tracebench_core.specs import JobSpec
from tracebench_runs.journal.form import parsed
from tracebench_runs.meta.planned import iter_jobs
from tracebench_runs.results.results import read_result
from tracebench_runs.storage.layout import RunLayout
from tracebench_runs.storage.lock import holder_of

POLL_SECONDS = 0.2
LOOKED_EVERY = 1.0
"""Seconds between looks for notices."""
MARK = b'"notice":true'
"""In the line of every notice."""


class LineFollower:
    """The complete lines that have come to a growing file since the last look."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0

    def lines(self) -> list[bytes]:
        """Return the new complete lines; none while the file is missing."""
        try:
            with self._path.open("rb") as log:
                log.seek(self._offset)
                data = log.read()
        except FileNotFoundError:
            return []
        whole = data[: data.rfind(b"\n") + 1]
        self._offset += len(whole)
        return whole.splitlines()


class Notices:
    """Tells each notice of the jobs under way once; of a job that ends, before its end is told."""

    def __init__(self, tell: Callable[[JobSpec, str], None]) -> None:
        """`tell` is called by one thread at a time."""
        self._tell = tell
        self._followed: dict[str, tuple[JobSpec, LineFollower]] = {}
        self._turn = threading.RLock()
        self._is_over = threading.Event()

    def begin(self, run_dir: Path) -> None:
        """Look from now on."""
        self._layout = RunLayout(run_dir)
        threading.Thread(target=self._work, name="notices", daemon=True).start()

    def follow(self, job: JobSpec) -> None:
        """Look at a job that was started."""
        with self._turn:
            self._followed[job.job_id] = (job, LineFollower(self._layout.job(job.job_id).events))

    def end(self, job: JobSpec) -> None:
        """Look at a job for the last time."""
        with self._turn:
            if job.job_id in self._followed:
                self._look(*self._followed.pop(job.job_id))

    def close(self) -> None:
        """Look no longer."""
        self._is_over.set()

    def _work(self) -> None:
        while not self._is_over.wait(LOOKED_EVERY):
            with self._turn:
                for job, events in self._followed.values():
                    self._look(job, events)

    def _look(self, job: JobSpec, events: LineFollower) -> None:
        lines: list[bytes] = []
        with suppress(OSError):  # a run does not end because its log cannot be read here
            lines = events.lines()
        for line in lines:
            if MARK in line:
                with suppress(ValueError, TypeError, AttributeError):  # no event: `fsck` tells of it
                    event = json.loads(line)
                    if event.get("kind") == "activity" and event.get("notice") is True:
                        self._tell(job, str(event.get("doing", "")))


class RunFollower:
    """Tells a reporter what happened in a run since the last look, from the start of its journals on."""

    def __init__(self, layout: RunLayout, reporter: Reporter) -> None:
        self._layout = layout
        self._reporter = reporter
        self._jobs = {job.job_id: job for job in iter_jobs(layout)}
        self._logs: dict[Path, LineFollower] = {}
        self._running: set[str] = set()
        self._statuses: dict[str, str] = {}

    def begin(self) -> None:
        """Tell that the run is there."""
        self._reporter.run_started(self._layout.path, len(self._jobs))

    def look(self) -> None:
        """Tell what is new; of a job that ended and was started again since the last look, only the latest."""
        latest: dict[str, Mapping[str, Any]] = {}
        for path in self._layout.journals():
            log = self._logs.setdefault(path, LineFollower(path))
            for record in chain.from_iterable(map(parsed, log.lines())):
                job_id = str(record.get("job"))
                latest.pop(job_id, None)
                latest[job_id] = record
        for job_id, record in latest.items():
            if job_id in self._jobs:
                self._tell(self._jobs[job_id], record)

    def end(self) -> None:
        """Tell how many jobs ended how."""
        counts = Counter(self._statuses.get(job_id, "not_run") for job_id in self._jobs)
        self._reporter.run_finished(self._layout.path, dict(sorted(counts.items())))

    def _tell(self, job: JobSpec, record: Mapping[str, Any]) -> None:
        if record.get("kind") == "job_started" and job.job_id not in self._running:
            self._running.add(job.job_id)
            self._reporter.job_started(job)
        elif record.get("kind") == "job_finished":
            try:
                result = read_result(self._layout.job(job.job_id)).result
            except RunDirError:
                return  # it is being run again; its next end will be told
            if job.job_id not in self._running:
                self._reporter.job_started(job)
            self._running.discard(job.job_id)
            self._statuses[job.job_id] = result.status
            self._reporter.job_finished(job, result)


def follow_run(layout: RunLayout, reporter: Reporter, *, sleep: Callable[[float], None] = time.sleep) -> None:
    """Show a run to the end of its runner; of a run that is not under way, what there is.

    Raises:
        RunDirError: when its manifest cannot be read.
    """
    follower = RunFollower(layout, reporter)
    follower.begin()
    try:
        while holder_of(layout) is not None:
            follower.look()
            sleep(POLL_SECONDS)
        follower.look()
    finally:
        follower.end()


def follow_lines(
    path: Path, *, goes_on: Callable[[], bool], sleep: Callable[[float], None] = time.sleep
) -> Iterator[bytes]:
    """Yield the lines of a file as they come, for as long as `goes_on`; a last line without its end comes at the end."""
    follower = LineFollower(path)
    while True:
        more = goes_on()
        yield from follower.lines()
        if not more:
            break
        sleep(POLL_SECONDS)
    if path.exists():
        *_, rest = path.read_bytes().rpartition(b"\n")
        if rest:
            yield rest
