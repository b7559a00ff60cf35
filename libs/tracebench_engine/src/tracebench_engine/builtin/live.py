"""A live view of a run for terminals: how many jobs ended how, how far each running one is, its curves, and the last that ended."""

from __future__ import annotations

import re
import threading
import time
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from tracebench_core.specs import JobResult, JobSpec
from tracebench_engine.builtin.columns import cells_of, one_line
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


POINTS = 60
"""Positions on the budget at which a mean is kept."""
BLOCKS = " ▁▂▃▄▅▆▇█"
STEPS = len(BLOCKS) - 1
LABEL = 24
"""Characters of a trainer's name beside its curve."""

Key = tuple[str, str]
"""Task and trainer."""


@dataclass(slots=True)
class _Mean:
    """Sums over the jobs that ended, by position."""

    sums: list[float] = field(default_factory=lambda: [0.0] * POINTS)
    counts: list[int] = field(default_factory=lambda: [0] * POINTS)

    def add(self, values: Sequence[float | None]) -> None:
        for i, value in enumerate(values):
            if value is not None:
                self.sums[i] += value
                self.counts[i] += 1

    def copy(self) -> _Mean:
        return _Mean([*self.sums], [*self.counts])

    def means(self) -> list[float | None]:
        return [total / count if count else None for total, count in zip(self.sums, self.counts, strict=True)]


class Curves:
    """Keeps a mean curve for every task and trainer; a job that ended is kept as its share of that."""

    def __init__(self) -> None:
        self._ended: dict[Key, _Mean] = defaultdict(_Mean)

    def end(self, job: JobProgress) -> None:
        """Take a job that ended: what it had is carried on to the end of the budget."""
        self._ended[job.job.task_id, job.job.called].add(sampled(job.points, 1.0))

    def means(self, running: Sequence[JobProgress]) -> dict[Key, list[float | None]]:
        """Return the mean best score at every position; a job under way counts as far as it has come."""
        found = {key: mean.copy() for key, mean in self._ended.items()}
        for job in running:
            values = sampled(job.points, job.share() or 0.0)
            found.setdefault((job.job.task_id, job.job.called), _Mean()).add(values)
        means = {key: mean.means() for key, mean in found.items()}
        return {key: values for key, values in means.items() if any(value is not None for value in values)}


def sampled(points: Sequence[tuple[float, float]], until: float) -> list[float | None]:
    """Return the best score at every position up to a share of the budget; `points` are shares and scores. None where it is not known."""
    values: list[float | None] = []
    place, last = 0, None
    for i in range(1, POINTS + 1):
        position = i / POINTS
        while place < len(points) and points[place][0] <= position:
            last = points[place][1]
            place += 1
        values.append(last if position <= max(until, 1 / POINTS) else None)
    return values


def drawn(means: dict[Key, list[float | None]], *, rows: int, width: int) -> list[str]:
    """Return the curves as lines, `rows` for each trainer, its name and last mean at the last of them; every task has its own scale."""
    scales: dict[str, tuple[float, float]] = {}
    for (task, _), values in means.items():
        known = [value for value in values if value is not None]
        low, high = scales.get(task, (known[0], known[0]))
        scales[task] = min(low, *known), max(high, *known)
    tasks = len(scales)
    wide = max(10, min(POINTS, width - LABEL - 12))
    lines = []
    for (task, trainer), values in means.items():
        low, high = scales[task]
        shown = [values[min(POINTS - 1, i * POINTS // wide)] for i in range(wide)]
        heights = [0 if v is None else 1 + round((v - low) / ((high - low) or 1.0) * (rows * STEPS - 1)) for v in shown]
        last = next(value for value in reversed(values) if value is not None)
        name = trainer if tasks == 1 else f"{task.rpartition(':')[2]} {trainer}"
        for row in reversed(range(rows)):
            bars = "".join(BLOCKS[min(STEPS, max(0, height - row * STEPS))] for height in heights)
            label = name if row == 0 else ""
            cut = label if cells_of(label) <= LABEL else f"{label[: LABEL - 1]}…"
            lines.append(f"{cut:<{LABEL}} {bars} {last:.6g}" if row == 0 else f"{'':<{LABEL}} {bars}".rstrip())
    return lines
