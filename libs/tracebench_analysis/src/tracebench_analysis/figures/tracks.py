"""The best-so-far curve of every job, read from its log without the rest of it; of many jobs at once in little memory."""

from __future__ import annotations

import json
import marshal
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tracebench_analysis.comparison.outcomes import ENDED, Outcome, Outcomes
from tracebench_analysis.estimates.amounts import AXES
from tracebench_analysis.statistics.curves import Curve
from tracebench_core.specs import Axis
from tracebench_runs.reading.reader import Run
from tracebench_runs.storage.files import read_lines
from tracebench_runs.storage.layout import JobLayout

_MARK = b'"best"'
BARS = "\N{LOWER ONE EIGHTH BLOCK}▂▃▄▅▆▇█"


_Point = tuple[tuple[Any, ...], float]
"""What was used on each of `AXES`, an ellipsis where that is not told, and the score."""


class Track(NamedTuple):
    """One job's curve on one axis: the trainer's own measurements of its best candidate, not the engine's final scores."""

    outcome: Outcome
    curve: Curve


class Tracks:
    """The curves of all jobs that ended and have one: each log is read once, and some numbers of it are kept, not its curves."""

    def __init__(self, runs: Sequence[Run], outcomes: Outcomes) -> None:
        by_run = {run.run_id: run for run in runs}
        self._tasks = outcomes.tasks
        self._kept = [
            (outcome, marshal.dumps(points))
            for outcome in outcomes.outcomes
            if outcome.status in ENDED and (points := [*_points(by_run[outcome.run_id].layout.job(outcome.job_id))])
        ]

    def on(self, axis: Axis, entrant: str | None = None) -> Iterator[Track]:
        """Yield the curves of all jobs on an axis, or of an entrant's; a job whose use on the axis is not known has none."""
        for outcome, kept in self._kept:
            if entrant is None or outcome.entrant == entrant:
                points: list[_Point] = marshal.loads(kept)  # noqa: S302 - bytes that were made here
                curve = _curve(points, axis, end=getattr(outcome.used, axis))
                if curve is not None:
                    yield Track(outcome, curve)

    def scale(self, axis: Axis) -> tuple[float, Mapping[str, float]]:
        """Return where the last curve ends, and by task the largest gain over a job's first measurement, 0 where nothing was gained.

        Gains, for trainers may measure on different examples: their levels do not compare. The first measurement is the initial
        candidate's.
        """
        most, gains = 0.0, dict[str, float]()
        for outcome, curve in self.on(axis):
            most = max(most, curve.end)
            gains[outcome.task] = max(gains.get(outcome.task, 0.0), max(curve.ys) - curve.ys[0])
        return most, gains

    def scaled(self, entrant: str, axis: Axis, gains: Mapping[str, float]) -> list[list[Curve]]:
        """Return an entrant's curves, tasks x seeds, with the first measurement of each at 0 and the task's largest gain at 1."""
        found: dict[str, list[Curve]] = {task: [] for task in self._tasks}
        for outcome, curve in self.on(axis, entrant):
            gain, first = gains[outcome.task], curve.ys[0]
            heights = tuple((y - first) / gain if gain > 0 else 0.0 for y in curve.ys)
            found[outcome.task].append(Curve(curve.xs, heights, curve.end))
        return [curves for curves in found.values() if curves]


def read_curve(job: JobLayout, axis: Axis, *, end: float | None) -> Curve | None:
    """Return one job's best-so-far curve on an axis, `end` being what the job used of it; None without a point or with an unknown use.

    While a candidate is measured on one example after another its mean moves: the last one counts, from there on. A torn or foreign
    line is passed over.
    """
    return _curve([*_points(job)], axis, end=end)


def _curve(points: Sequence[_Point], axis: Axis, *, end: float | None) -> Curve | None:
    place = AXES.index(axis)
    known = [(used[place], score) for used, score in points if used[place] is not ...]
    uses = [used for used, _ in known if used is not None]
    if not known or len(uses) < len(known) or end is None:
        return None
    return Curve(tuple(min(used, end) for used in uses), tuple(score for _, score in known), end)


def sparkline(heights: Sequence[float]) -> str:
    """Return heights as one line of bars, 0 and less at the bottom, 1 and more at the top."""
    return "".join(BARS[min(len(BARS) - 1, max(0, round(h * (len(BARS) - 1))))] for h in heights)


def _points(job: JobLayout) -> Iterator[_Point]:
    """Yield what was used, and the score, of each best candidate when it was measured last in a row."""
    last: tuple[str, _Point] | None = None
    for line in read_lines(job.events).lines if job.events.is_file() else ():
        if _MARK not in line:
            continue
        try:
            event = json.loads(line)
            if event["kind"] != "best":
                continue
            candidate, score, used = event["candidate"], event["score"], event["used"]
            point = tuple(used.get(axis, ...) for axis in AXES), score
        except (ValueError, TypeError, KeyError, AttributeError):
            continue
        if isinstance(score, int | float) and abs(score) <= sys.float_info.max:
            if last is not None and last[0] != candidate:
                yield last[1]
            last = candidate, point
    if last is not None:
        yield last[1]
