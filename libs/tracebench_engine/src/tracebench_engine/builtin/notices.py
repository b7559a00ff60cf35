"""What running jobs want everybody to know, read from their events as they are written, by a thread of its own."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tracebench_core.specs import JobSpec
from tracebench_engine.run.control_follow import LineFollower
from tracebench_runs.storage.layout import RunLayout

LOOKED_EVERY = 1.0
"""Seconds."""
MARK = b'"notice":true'


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
        for line in events.lines():
            if MARK in line:
                with suppress(ValueError, TypeError, AttributeError):  # no event: `fsck` tells of it
                    event = json.loads(line)
                    if event.get("kind") == "activity" and event.get("notice") is True:
                        self._tell(job, str(event.get("doing", "")))
