"""A live view of a run for terminals: how many jobs ended how, how far each running one is, and the last that ended."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from tracebench_core.specs import JobResult, JobSpec
from tracebench_engine.builtin.progress import JobProgress, clock
from tracebench_engine.builtin.reporters import outcome, shown
from tracebench_runs.storage.layout import RunLayout

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
LAST = 6
MOST_ROWS = 25
MOST_RUNNING = 16


class LiveReporter:
    """Redraws itself as jobs start and end."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream)
        self._title = ""
        self._jobs = 0
        self._done = 0
        self._running: dict[str, JobProgress] = {}
        self._layout: RunLayout | None = None
        self._began = time.monotonic()
        self._rows: dict[tuple[str, str], dict[str, int]] = {}
        self._best: dict[tuple[str, str], float] = {}
        self._last: deque[str] = deque(maxlen=LAST)
        self._live = Live(console=self._console, refresh_per_second=4, get_renderable=self._draw)  # draws at once

    def run_started(self, run_dir: Path, jobs: int) -> None:
        """Begin to draw."""
        self._title, self._jobs, self._layout = str(run_dir), jobs, RunLayout(run_dir)
        self._began = time.monotonic()
        self._live.start()

    def job_started(self, job: JobSpec) -> None:
        """Begin to follow a job."""
        if self._layout is not None:
            self._running[job.job_id] = JobProgress(job, self._layout.job(job.job_id).events)
        self._rows.setdefault((job.task_id, job.trainer_id), {})

    def job_finished(self, job: JobSpec, result: JobResult) -> None:
        """Count a job's end."""
        self._running.pop(job.job_id, None)
        self._done += 1
        key = (job.task_id, job.trainer_id)
        row = self._rows.setdefault(key, {})
        row[result.status] = row.get(result.status, 0) + 1
        if result.score_val_best is not None:
            self._best[key] = max(self._best.get(key, result.score_val_best), result.score_val_best)
        self._last.append(outcome(job, result))

    def run_finished(self, run_dir: Path, counts: Mapping[str, int]) -> None:
        """Draw for the last time."""
        self._running.clear()
        self._live.stop()
        self._console.print(f"{run_dir.name}: " + ", ".join(f"{n} {status}" for status, n in counts.items()))

    def _draw(self) -> Group:
        table = Table("task", "trainer", title=self._title, expand=True)
        for name in ("ok", "failed", "other", "best"):
            table.add_column(name, justify="right")
        for key, row in [*self._rows.items()][-MOST_ROWS:]:
            other = sum(n for status, n in row.items() if status not in {"ok", "failed"})
            table.add_row(
                *key, str(row.get("ok", 0)), str(row.get("failed", 0)), str(other), shown(self._best.get(key))
            )
        progress = Text(self._told())
        return Group(
            table, *self._under_way(), progress, *(Text(line, overflow="ellipsis", no_wrap=True) for line in self._last)
        )

    def _under_way(self) -> list[Table | Text]:
        running = [*self._running.values()][:MOST_RUNNING]
        if not running:
            return []
        table = Table("running", "trainer", "seed", expand=True)
        table.add_column("budget", ratio=1)
        for name in ("best", "elapsed", "left"):
            table.add_column(name, justify="right")
        for job in running:
            job.read()
            times = (clock(job.elapsed), clock(job.left()))
            table.add_row(job.job.task_id, job.job.trainer_id, str(job.job.seed), job.bar(), shown(job.best), *times)
        doing = [f"{job.job.task_id} seed {job.job.seed}: {CONTROL.sub('', job.doing)}" for job in running if job.doing]
        return [table, *(Text(line, style="dim", overflow="ellipsis", no_wrap=True) for line in doing)]

    def _told(self) -> str:
        elapsed = time.monotonic() - self._began
        left = elapsed / self._done * (self._jobs - self._done) if self._done else None
        words = f"{self._done} of {self._jobs} jobs done, {len(self._running)} running, {clock(elapsed)} elapsed"
        return f"{words}, about {clock(left)} left" if left else words
