"""`leaderboard.csv`: the rank of every trainer within its task, by mean over seeds, with count, interval and use."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from tracebench_core import averages
from tracebench_core.specs import Gain, JobStatus, Usage
from tracebench_runs.results.rows import (
    AXES,
    EVALUATIONS,
    PROPOSALS,
    SPENT,
    GroupKey,
    Row,
    TaskKey,
    count_cells,
    csv_line,
    spent_cells,
)
from tracebench_runs.results.student import interval

COLUMNS = (
    "task_id", "task_version", "guide", "eval_kwargs", "rank", "trainer_id", "params", "optimizer", "score", "n",
    "mean", "ci95_low", "ci95_high", "jobs", "ok", "failed", "timeout", "other", "isolation", "llm_variant",
    *(f"used_{axis}" for axis in AXES), *(f"proposals_{name}" for name in PROPOSALS), *SPENT, "unscored",
    *(f"evaluations_{status}" for status in EVALUATIONS), "label", "gain_content", "gain_form",
)  # fmt: skip
_MEASURED: frozenset[JobStatus] = frozenset({"ok", "timeout"})
_COUNTED: tuple[JobStatus, ...] = ("ok", "failed", "timeout")

Score = Literal["test", "validation"]


@dataclass(slots=True)
class Standing:
    """One group of seeds on one task."""

    group: GroupKey
    score: Score
    isolation: str = ""
    """How untrusted code was held, of all its jobs alike."""
    scores: list[float] = field(default_factory=list)
    jobs: int = 0
    counts: Counter[JobStatus] = field(default_factory=Counter)
    rank: int | None = None
    used: list[tuple[float | None, ...]] = field(default_factory=list)
    """By the training of each job that ended, on each axis of a budget."""
    proposals: list[int] = field(default_factory=lambda: [0] * len(PROPOSALS))
    """Of all its jobs together."""
    spent: Usage | None = None
    """By all attempts at all its jobs; None where no ledger tells."""
    by_status: list[int] | None = field(default_factory=lambda: [0] * len(EVALUATIONS))
    """The trainer's evaluations of all its jobs together; None where one job does not tell."""
    gains: list[Gain | None] = field(default_factory=list)
    """By job with a score."""

    @property
    def mean(self) -> float | None:
        return averages.mean(self.scores) if self.scores else None

    def line(self) -> bytes:
        """Return the standing as a line of `leaderboard.csv`."""
        low, high = interval(self.scores) or (None, None)
        cells: dict[str, object] = {
            **self.group.task._asdict(),
            **self.group._asdict(),
            **{str(status): self.counts[status] for status in _COUNTED},
            "task_version": self.group.task.version,
            "rank": self.rank,
            "score": self.score,
            "n": len(self.scores),
            "mean": self.mean,
            "ci95_low": low,
            "ci95_high": high,
            "jobs": self.jobs,
            "other": self.jobs - sum(self.counts[status] for status in _COUNTED),
            "isolation": self.isolation,
            **{f"used_{axis}": _mean([used[i] for used in self.used]) for i, axis in enumerate(AXES)},
            **{f"proposals_{name}": count for name, count in zip(PROPOSALS, self.proposals, strict=True)},
            **spent_cells(self.spent),
            "unscored": self.counts["unscored"],
            **count_cells(self.by_status),
            "gain_content": _mean([gain.content if gain else None for gain in self.gains]),
            "gain_form": _mean([gain.form if gain else None for gain in self.gains]),
        }
        return csv_line(cells, COLUMNS)


def standings(rows: Iterable[Row]) -> list[Standing]:
    """Rank groups within their task; tasks in order of appearance, within a task by rank, groups without a score last.

    A task's scores are those on test when any of its jobs has one, else the best on validation: the two are never mixed. A job counts
    when it is `ok`, or timed out with a score; of the others only their number is told. Equal means share a rank, and the next rank
    is left out. A group without a score has none. What was measured under different isolation is ranked apart.
    """
    tasks: dict[TaskKey, list[Row]] = {}
    for row in rows:
        tasks.setdefault(row.group.task, []).append(row)
    return [
        standing for of_task in tasks.values() for level in _levels(of_task) for standing in _ranked(of_task, level)
    ]


def _levels(rows: list[Row]) -> list[str]:
    """Return the levels of isolation among a task's jobs; those that never started have none and are told with the first."""
    return list(dict.fromkeys(row.isolation for row in rows if row.isolation)) or [""]


def _ranked(of_task: list[Row], level: str) -> list[Standing]:
    first = _levels(of_task)[0]
    groups: dict[GroupKey, list[Row]] = {}
    for row in of_task:
        if (row.isolation or first) == level:
            groups.setdefault(row.group, []).append(row)
    on_test = any(_score(row, "test") is not None for rows in groups.values() for row in rows)
    score: Score = "test" if on_test else "validation"
    all_of_task = [_standing(group, rows, score=score, isolation=level) for group, rows in groups.items()]
    scored = sorted((s for s in all_of_task if s.scores), key=lambda s: -(s.mean or 0.0))
    for position, standing in enumerate(scored, start=1):
        previous = scored[position - 2] if position > 1 else None
        standing.rank = previous.rank if previous is not None and previous.mean == standing.mean else position
    return scored + [s for s in all_of_task if not s.scores]


def _standing(group: GroupKey, rows: Iterable[Row], *, score: Score, isolation: str) -> Standing:
    standing = Standing(group, score, isolation)
    for row in rows:
        standing.jobs += 1
        standing.counts[row.status] += 1
        if row.status in _COUNTED:
            standing.used.append(row.used)
        standing.proposals = [a + b for a, b in zip(standing.proposals, row.proposals, strict=True)]
        known = standing.by_status is not None and row.by_status is not None
        standing.by_status = (
            [a + b for a, b in zip(standing.by_status or (), row.by_status or (), strict=True)] if known else None
        )
        if row.spent is not None:
            standing.spent = (standing.spent or Usage()) + row.spent
        value = _score(row, score)
        if value is not None:
            standing.scores.append(value)
            standing.gains.append(
                row.gain if row.gain is not None and (row.gain.split == "test") == (score == "test") else None
            )
    return standing


def _mean(amounts: Sequence[float | None]) -> float | None:
    """Return the mean per job; None where an amount of any is not known."""
    known = [amount for amount in amounts if amount is not None]
    return averages.mean(known) if known and len(known) == len(amounts) else None


def _score(row: Row, score: Score) -> float | None:
    value = row.score_test if score == "test" else row.score_val
    return value if row.status in _MEASURED and value is not None and math.isfinite(value) else None
