"""Best-so-far curves of a run under way, for terminals: each trainer's mean on a task over the budget, as far as its jobs have come."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from tracebench_engine.builtin.columns import cells_of
from tracebench_engine.builtin.progress import JobProgress

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
