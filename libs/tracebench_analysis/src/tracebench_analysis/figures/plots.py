"""The rows behind every chart: curves with bands on each axis, profiles, shares of targets reached, mean ranks, score and cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracebench_analysis.comparison.verdicts import Comparison
from tracebench_analysis.estimates.amounts import AXES
from tracebench_analysis.figures.tracks import Tracks
from tracebench_analysis.statistics.curves import Curve, band, grid, performance_profile, reached_share
from tracebench_core.specs import Axis

Row = dict[str, Any]
TARGETS = tuple(i / 10 for i in range(1, 11))
"""On the scale of the curves: a tenth of the way from the initial candidate to the best score seen, and so on."""
POINTS = 40


def leaderboard_rows(comparison: Comparison) -> list[Row]:
    """Return score and interval of every entrant, best first."""
    return [
        {"trainer": s.standing.entrant, "score": i.estimate, "low": _or(i.low, i.estimate), "high": _or(i.high, i.estimate),
         "usd": s.use.usd, "tokens": s.use.tokens, "evaluations": s.use.evaluations}
        for s in comparison.summaries if (i := s.standing.interval) is not None
    ]  # fmt: skip


def gain_rows(comparison: Comparison) -> list[Row]:
    """Return the parts of every entrant's score, content and form, in the order of the leaderboard; none where they were not measured."""
    return [
        {"trainer": s.standing.entrant, "part": part, "score": interval.estimate, "low": _or(interval.low, interval.estimate),
         "high": _or(interval.high, interval.estimate)}
        for s in comparison.summaries for part, interval in (("content", s.content), ("form", s.form)) if interval is not None
    ]  # fmt: skip


def curve_rows(tracks: Tracks, comparison: Comparison, axes: Iterable[Axis] = AXES) -> list[Row]:
    """Return the mean curve of every entrant on every axis that was used, with band; `carried` once half of its jobs had ended."""
    rows: list[Row] = []
    for axis in axes:
        most, gains = tracks.scale(axis)
        if not most:
            continue
        positions = grid((), points=POINTS, most=most)
        for entrant, tasks in _by_entrant(tracks, comparison, axis, gains):
            before: Row | None = None
            for point in band(tasks, positions):
                mean, low, high = point.interval.estimate, point.interval.low, point.interval.high
                row = {
                    "axis": axis, "trainer": entrant, "x": point.x, "mean": mean, "low": _or(low, mean), "high": _or(high, mean),
                    "carried": point.carried >= 0.5,  # noqa: PLR2004 - half of the jobs
                }  # fmt: skip
                if before is not None and before["carried"] != row["carried"]:
                    rows.append(
                        {**before, "carried": row["carried"]}
                    )  # the dotted part begins where the drawn one ends
                rows.append(row)
                before = row
    return rows


def profile_rows(comparison: Comparison) -> list[Row]:
    """Return the share of jobs above each score, by entrant."""
    strata = {
        s.standing.entrant: [
            [*v.values()] for v in comparison.outcomes.scores(s.standing.entrant, normalised=True).values()
        ]
        for s in comparison.summaries
    }
    every = [value for scores in strata.values() for task in scores for value in task]
    if not every:
        return []
    low, high = min(every), max(every)
    thresholds = [low + (high - low) * i / POINTS for i in range(POINTS + 1)]
    return [
        {"trainer": entrant, "score": tau, "share": share}
        for entrant, scores in strata.items() if scores
        for tau, share in zip(thresholds, performance_profile(scores, thresholds), strict=True)
    ]  # fmt: skip


def reached_rows(tracks: Tracks, comparison: Comparison) -> list[Row]:
    """Return the share of (job, target) pairs reached by so many evaluations, by entrant."""
    axis: Axis = "evaluations"
    most, gains = tracks.scale(axis)
    positions = [0.0, *grid((), points=POINTS, most=most)]
    rows = []
    for entrant, tasks in _by_entrant(tracks, comparison, axis, gains):
        curves = [curve for task in tasks for curve in task]
        shares = reached_share(curves, [TARGETS] * len(curves), positions)
        rows += [{"trainer": entrant, "x": x, "share": share} for x, share in zip(positions, shares, strict=True)]
    return rows


def rank_rows(comparison: Comparison) -> list[Row]:
    """Return the mean ranks with the critical difference beside the best; none for fewer than two tasks."""
    ranks = comparison.ranks
    if ranks is None:
        return []
    best = min(ranks.ranks)
    return [
        {"trainer": entrant, "rank": rank, "tied": rank - best <= ranks.critical_difference}
        for entrant, rank in zip(comparison.ranked, ranks.ranks, strict=True)
    ]


def _by_entrant(
    tracks: Tracks, comparison: Comparison, axis: Axis, gains: Mapping[str, float]
) -> Iterator[tuple[str, list[list[Curve]]]]:
    for summary in comparison.summaries:
        if filled := tracks.scaled(summary.standing.entrant, axis, gains):
            yield summary.standing.entrant, filled


def _or(value: float | None, otherwise: float) -> float:
    return otherwise if value is None else value
