"""Opens runs and jobs for the pages, and keeps the few that were opened last for as long as their files do not change."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from tracebench_engine.api.analysis import AnalysedRun, open_run
from tracebench_viewer.jobview import JobView, read_job

KEPT = 8
T = TypeVar("T")


class Reader:
    """A small cache of what was read, by the state of the files it was read from. Thread-safe."""

    def __init__(self, runs_dir: Path) -> None:
        self._runs_dir = runs_dir
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, ...], tuple[Any, Any]] = OrderedDict()

    def run(self, name: str) -> AnalysedRun:
        """Open a run.

        Raises:
            RunDirError: when it cannot be read, or is not what its journal vouches for.
        """
        path = self._runs_dir / name
        files = [path / "meta" / "manifest.json", path / "results.csv", *sorted(path.glob("journal-*.jsonl"))]
        return self._get(("run", name), files, lambda: open_run(path))

    def job(self, name: str, job_id: str) -> JobView:
        """Read a job.

        Raises:
            RunDirError: as `run`, or when there is no such job.
        """
        folder = self._runs_dir / name / "jobs" / job_id
        run = self.run(name)
        return self._get(
            ("job", name, job_id), [folder / "events.jsonl", folder / "results.json"], lambda: read_job(run, job_id)
        )

    def _get(self, key: tuple[str, ...], files: list[Path], read: Callable[[], T]) -> T:
        stamp = [_state(path) for path in files]
        with self._lock:
            found = self._kept.get(key)
            if found is not None and found[0] == stamp:
                self._kept.move_to_end(key)
                kept: T = found[1]
                return kept
        value = read()
        with self._lock:
            self._kept[key] = (stamp, value)
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return value


def _state(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
