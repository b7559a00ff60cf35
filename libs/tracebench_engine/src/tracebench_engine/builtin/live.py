"""A live view of a run for terminals: how many jobs ended how, how far each running one is, its curves, and the last that ended."""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from tracebench_core.specs import JobResult, JobSpec
from tracebench_engine.builtin.columns import one_line
from tracebench_engine.builtin.curves import Curves, drawn
from tracebench_engine.builtin.progress import JobProgress, clock
from tracebench_engine.builtin.reporters import outcome, shown
from tracebench_runs.storage.layout import RunLayout

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
LAST = 6
MOST_ROWS = 25
MOST_RUNNING = 16
MOST_CURVES = 12
"""Tasks times trainers of which curves are drawn."""


class LiveReporter:
    """Redraws itself as jobs start and end. It is told by the runner's thread and draws in one of its own: one at a time."""

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
        self._curves = Curves()
        self._turn = threading.Lock()
        """Over all of the above. Never held while Rich is called, which draws under a lock of its own."""
        self._live = Live(console=self._console, refresh_per_second=4, get_renderable=self._draw)  # draws at once

    def run_started(self, run_dir: Path, jobs: int) -> None:
        """Begin to draw."""
        self._title, self._jobs, self._layout = f"Run {run_dir.name}", jobs, RunLayout(run_dir)
        self._began = time.monotonic()
        self._live.start()

    def job_started(self, job: JobSpec) -> None:
        """Begin to follow a job."""
        with self._turn:
            if self._layout is not None:
                self._running[job.job_id] = JobProgress(job, self._layout.job(job.job_id).events)
            self._rows.setdefault((job.task_id, job.called), {})

    def job_finished(self, job: JobSpec, result: JobResult) -> None:
        """Count a job's end."""
        with self._turn:
            self._count(job, result)

    def _count(self, job: JobSpec, result: JobResult) -> None:
        if (followed := self._running.pop(job.job_id, None)) is not None:
            followed.read()
            self._curves.end(followed)
        self._done += 1
        key = (job.task_id, job.called)
        row = self._rows.setdefault(key, {})
        row[result.status] = row.get(result.status, 0) + 1
        if result.score_val_best is not None:
            self._best[key] = max(self._best.get(key, result.score_val_best), result.score_val_best)
        self._last.append(outcome(job, result))

    def run_finished(self, run_dir: Path, counts: Mapping[str, int]) -> None:
        """Draw for the last time."""
        with self._turn:
            self._running.clear()
        self._live.stop()
        self._console.print(f"{run_dir.name}: " + ", ".join(f"{n} {status}" for status, n in counts.items()))

    def _draw(self) -> Group:
        with self._turn:
            return Group(*(Text(line, overflow="ellipsis", no_wrap=True) for line in self._lines()))

    def _lines(self) -> list[str]:
        running = [*self._running.values()][:MOST_RUNNING]
        for job in running:
            job.read()
        lines = [*self._standings(), *self._under_way(running)]
        room = self._console.height - 2 - len(lines) - len(self._title_lines())
        curves = self._curves.means(running) if len(self._rows) <= MOST_CURVES else {}
        rows = next((rows for rows in (3, 2, 1) if rows * len(curves) <= room), 0)
        if curves and rows:
            heading = f"best so far over the budget, mean of the jobs so far{'' if self._is_one_task() else '; each task on its own scale'}"
            lines += ["", heading, *drawn(curves, rows=rows, width=self._console.width)]
        left = self._console.height - 2 - len(lines) - len(self._title_lines())
        last = [*self._last][-min(left, LAST) :] if left > 0 else []
        return [*self._title_lines(), *lines, *last]

    def _title_lines(self) -> list[str]:
        return [self._title, self._told()]

    def _is_one_task(self) -> bool:
        return len({task for task, _ in self._rows}) <= 1

    def _standings(self) -> list[str]:
        """Return how the jobs of every trainer on every task ended, the task left out where there is one."""
        rows = []
        for (task, trainer), row in [*self._rows.items()][-MOST_ROWS:]:
            other = sum(n for status, n in row.items() if status not in {"ok", "failed"})
            counts = (str(row.get("ok", 0)), str(row.get("failed", 0)), str(other))
            rows.append((trainer, task, *counts, shown(self._best.get((task, trainer)))))
        return self._laid_out(("trainer", "task", "ok", "failed", "other", "best"), rows, least=("other",))

    def _under_way(self, running: Sequence[JobProgress]) -> list[str]:
        """Return a line for every running job, and what each says that it does."""
        rows = [
            (
                job.job.called, job.job.task_id, str(job.job.seed), job.bar(), job.amounts(),
                shown(job.best), clock(job.elapsed), clock(job.left()),
            )
            for job in running
        ]  # fmt: skip
        headers = ("running", "task", "seed", "budget", "used", "best", "elapsed", "left")
        doing = [f"{job.job.task_id} seed {job.job.seed}: {CONTROL.sub('', job.doing)}" for job in running if job.doing]
        return [*self._laid_out(headers, rows, least=("elapsed", "left", "task", "used")), *doing] if rows else []

    def _laid_out(self, headers: Sequence[str], rows: Sequence[Sequence[str]], *, least: Sequence[str]) -> list[str]:
        cells = [headers, *rows]
        if self._is_one_task():
            cells = [[cell for name, cell in zip(headers, row, strict=True) if name != "task"] for row in cells]
        return ["", *(one_line(cells, width=self._console.width, least=least))]

    def _told(self) -> str:
        elapsed = time.monotonic() - self._began
        left = elapsed / self._done * (self._jobs - self._done) if self._done else None
        words = f"{self._done} of {self._jobs} jobs done, {len(self._running)} running, {clock(elapsed)} elapsed"
        return f"{words}, about {clock(left)} left" if left else words
