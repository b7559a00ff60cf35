"""The best-so-far curve of every job, read from its log without the rest of it."""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tracebench_analysis.comparison.outcomes import ENDED, Outcome, Outcomes
from tracebench_analysis.statistics.curves import Curve
from tracebench_core.specs import Axis
from tracebench_runs.reading.reader import Run
from tracebench_runs.storage.files import read_lines
from tracebench_runs.storage.layout import JobLayout

_MARK = b'"best"'
BARS = "\N{LOWER ONE EIGHTH BLOCK}▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class Track:
    """One job's curve on one axis: the trainer's own measurements of its best candidate, not the engine's final scores."""

    outcome: Outcome
    curve: Curve


def read_tracks(runs: Sequence[Run], outcomes: Outcomes, axis: Axis) -> list[Track]:
    """Return the curve of every job that ended and has one; a job whose use on the axis is not known has none."""
    by_run = {run.run_id: run for run in runs}
    found = []
    for outcome in outcomes.outcomes:
        if outcome.status in ENDED:
            curve = read_curve(by_run[outcome.run_id].layout.job(outcome.job_id), axis, end=getattr(outcome.used, axis))
            if curve is not None:
                found.append(Track(outcome, curve))
    return found


def read_curve(job: JobLayout, axis: Axis, *, end: float | None) -> Curve | None:
    """Return one job's best-so-far curve on an axis, `end` being what the job used of it; None without a point or with an unknown use.

    While a candidate is measured on one example after another its mean moves: the last one counts, from there on. A torn or foreign
    line is passed over.
    """
    points: list[tuple[str, float, float]] = []
    for candidate, used, score in _points(job, axis):
        if used is None or end is None:
            return None
        if points and points[-1][0] == candidate:
            points.pop()
        points.append((candidate, min(used, end), score))
    return Curve(tuple(p[1] for p in points), tuple(p[2] for p in points), end or 0.0) if points else None


def scales(tracks: Sequence[Track]) -> Mapping[str, float]:
    """Return by task the largest gain over a job's first measurement, which is the initial candidate's; 0 where nothing was gained.

    Gains, for trainers may measure on different examples: their levels do not compare.
    """
    gains: dict[str, float] = defaultdict(float)
    for track in tracks:
        gains[track.outcome.task] = max(gains[track.outcome.task], max(track.curve.ys) - track.curve.ys[0])
    return gains


def normalised(track: Track, gains: Mapping[str, float]) -> Curve:
    """Return a track's curve with its first measurement at 0 and the task's largest gain at 1."""
    gain, first = gains[track.outcome.task], track.curve.ys[0]
    heights = tuple((y - first) / gain if gain > 0 else 0.0 for y in track.curve.ys)
    return Curve(track.curve.xs, heights, track.curve.end)


def sparkline(heights: Sequence[float]) -> str:
    """Return heights as one line of bars, 0 and less at the bottom, 1 and more at the top."""
    return "".join(BARS[min(len(BARS) - 1, max(0, round(h * (len(BARS) - 1))))] for h in heights)


def _points(job: JobLayout, axis: Axis) -> Iterator[tuple[str, float | None, float]]:
    if not job.events.is_file():
        return
    for line in read_lines(job.events).lines:
        if _MARK not in line:
            continue
        try:
            event = json.loads(line)
            if event["kind"] == "best":
                score, used = event["score"], event["used"][axis]
                if isinstance(score, int | float) and math.isfinite(score):
                    yield event["candidate"], used, float(score)
        except (ValueError, TypeError, KeyError):
            continue
