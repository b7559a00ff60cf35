"""The charts of a comparison with their captions: reports, viewers and notebooks show the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tracebench_analysis.comparison.verdicts import Comparison
from tracebench_analysis.figures.charts import Charts
from tracebench_analysis.figures.plots import (
    curve_rows,
    gain_rows,
    leaderboard_rows,
    profile_rows,
    rank_rows,
    reached_rows,
)
from tracebench_analysis.figures.tracks import Tracks
from tracebench_runs.reading.reader import Run


class Figure(NamedTuple):
    """A chart and what it says."""

    chart: Any
    """An Altair chart."""
    caption: str


def figures(runs: Sequence[Run], comparison: Comparison) -> dict[str, Figure]:
    """Return the charts that have data: `leaderboard`, `cost`, `gains`, `curves`, `profile`, `reached`, `ranks`.

    Raises:
        MissingRequirementError: when the chart library is not installed.
    """
    draw = Charts([summary.standing.entrant for summary in comparison.summaries])
    scores, floor = leaderboard_rows(comparison), comparison.floor.split
    tracks = Tracks(runs, comparison.outcomes)
    curves, profile = curve_rows(tracks, comparison), profile_rows(comparison)
    reached, ranks = reached_rows(tracks, comparison), rank_rows(comparison)
    gains = gain_rows(comparison)
    found: dict[str, Figure] = {}
    if scores:
        found["leaderboard"] = Figure(
            draw.leaderboard(scores, floor=floor),
            "Scores with 95 % intervals; grey: the noise floor below the best.",
        )
        found["cost"] = Figure(draw.cost(scores), "Score by cost.")
    if gains:
        found["gains"] = Figure(
            draw.gains(gains),
            "What the scores are made of. Content: what the outputs hold and the initial candidate's do not. Form: what "
            "those held already, in a form that is not read.",
        )
    if curves:
        found["curves"] = Figure(
            draw.curves(curves),
            "Best so far as the trainers measured it, over their first measurement; the largest gain is 1. Mean over tasks, 95 % band; "
            "dotted: carried on after jobs had ended.",
        )
    if profile:
        found["profile"] = Figure(
            draw.profile(profile), "Performance profile: jobs above each score, tasks weighing alike."
        )
    if reached:
        found["reached"] = Figure(draw.reached(reached), "Share of ten targets per job that were reached.")
    if ranks and comparison.ranks is not None:
        critical = comparison.ranks.critical_difference
        found["ranks"] = Figure(
            draw.ranks(ranks, critical=critical),
            f"Mean ranks; grey: critical difference {critical:.2f} (Nemenyi, 5 %) from the best.",
        )
    return found
