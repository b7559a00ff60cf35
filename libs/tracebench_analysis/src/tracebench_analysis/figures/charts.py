"""Every chart, as Altair objects: the report, viewers and notebooks draw the same ones."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tracebench_analysis.figures.plots import Row
from tracebench_core.errors import MissingRequirementError

COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#999999", "#F0E442")
"""Okabe and Ito (2008), with grey for black, which a dark page hides: told apart by most people; an entrant keeps its colour."""
WIDTH, HEIGHT = 520, 260


def altair() -> Any:
    """Return the library.

    Raises:
        MissingRequirementError: when it is not installed.
    """
    try:
        return import_module("altair")
    except ImportError as err:
        raise MissingRequirementError(
            "Charts need `altair`, which is not installed.", hint="pip install 'tracebench-engine[report]'"
        ) from err


class Charts:
    """Draws charts in which every entrant has one colour."""

    def __init__(self, entrants: Sequence[str]) -> None:
        self._alt = altair()
        colors = [COLORS[i % len(COLORS)] for i in range(len(entrants))]
        self._color = self._alt.Color(
            "trainer:N",
            scale=self._alt.Scale(domain=[*entrants], range=colors),
            legend=self._alt.Legend(title=None, symbolOpacity=1, orient="bottom", columns=2),
        )

    def leaderboard(self, rows: Sequence[Row], *, floor: float | None) -> Any:
        """Draw scores with their intervals; the grey band is the noise floor around the best."""
        alt = self._alt
        y = alt.Y("trainer:N", sort=None, title=None)
        base = self._chart(rows).encode(y=y, color=self._color.legend(None))
        layers = [
            base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="normalised score"), x2="high:Q"),
            base.mark_point(filled=True, size=70).encode(
                x="score:Q", tooltip=["trainer:N", "score:Q", "low:Q", "high:Q"]
            ),
        ]
        if floor and rows:
            best = max(row["score"] for row in rows)
            band = alt.Chart(alt.Data(values=[{"from": best - floor, "to": best}]))
            layers.insert(0, band.mark_rect(opacity=0.15, color="grey").encode(x="from:Q", x2="to:Q"))
        return alt.layer(*layers).properties(width=WIDTH, height=max(60, 28 * len(rows)))

    def gains(self, rows: Sequence[Row]) -> Any:
        """Draw what each score is made of: content, and beside it form."""
        alt = self._alt
        scale = alt.Scale(domain=["content", "form"], range=[COLORS[0], COLORS[6]])
        color = alt.Color("part:N", scale=scale, legend=alt.Legend(title=None, orient="bottom"))
        bars = self._chart(rows).mark_bar(size=14).encode(
            y=alt.Y("trainer:N", sort=None, title=None), x=alt.X("score:Q", title="normalised score"), color=color,
            tooltip=["trainer:N", "part:N", "score:Q", "low:Q", "high:Q"],
        )  # fmt: skip
        return bars.properties(width=WIDTH, height=max(60, 14 * len(rows)))

    def curves(self, rows: Sequence[Row]) -> Any:
        """Draw best-so-far with bands; a menu chooses among several axes, and what is dotted is carried on after jobs had ended."""
        alt = self._alt
        axes = list(dict.fromkeys(row["axis"] for row in rows))
        axis = alt.param(
            name="axis", value=axes[0] if axes else None, bind=alt.binding_select(options=axes, name="axis ")
        )
        base = self._chart(rows).encode(x=alt.X("x:Q", title=f"{axes[0]} used" if len(axes) == 1 else "used"))
        if len(axes) > 1:
            base = base.transform_filter("datum.axis === axis")
        band = base.mark_area(opacity=0.12).encode(y="low:Q", y2="high:Q", color=self._color, detail="carried:N")
        dash = alt.StrokeDash("carried:N", scale=alt.Scale(domain=[False, True], range=[[1, 0], [2, 4]]), legend=None)
        line = base.mark_line(interpolate="step-after", strokeWidth=2).encode(
            y=alt.Y("mean:Q", title="gain over the initial candidate"), color=self._color, strokeDash=dash
        )
        chart = alt.layer(band, line).properties(width=WIDTH, height=HEIGHT)
        return chart.add_params(axis) if len(axes) > 1 else chart

    def profile(self, rows: Sequence[Row]) -> Any:
        """Draw the share of jobs that score above a threshold."""
        return self._steps(rows, x="score", title="normalised score", y="jobs above it")

    def reached(self, rows: Sequence[Row]) -> Any:
        """Draw the share of targets reached by what was used."""
        return self._steps(rows, x="x", title="evaluations", y="targets reached")

    def ranks(self, rows: Sequence[Row], *, critical: float) -> Any:
        """Draw mean ranks; the bar is the critical difference from the best, inside which no rank is told from it."""
        alt = self._alt
        best = min(row["rank"] for row in rows)
        bar = alt.Chart(alt.Data(values=[{"from": best, "to": best + critical}]))
        points = (
            self._chart(rows)
            .mark_point(filled=True, size=80)
            .encode(
                x=alt.X("rank:Q", title="mean rank (1 is best)", scale=alt.Scale(zero=False)),
                y=alt.Y("trainer:N", sort=alt.EncodingSortField("rank"), title=None),
                color=self._color.legend(None),
                tooltip=["trainer:N", "rank:Q"],
            )
        )
        band = bar.mark_rect(opacity=0.15, color="grey").encode(x="from:Q", x2="to:Q")
        return alt.layer(band, points).properties(width=WIDTH, height=max(60, 28 * len(rows)))

    def cost(self, rows: Sequence[Row]) -> Any:
        """Draw score by cost: USD per job where every price is known, else tokens, else evaluations."""
        alt = self._alt
        field = next(
            (f for f in ("usd", "tokens") if rows and all(r[f] is not None for r in rows) and any(r[f] for r in rows)),
            "evaluations",
        )
        base = self._chart([row for row in rows if row[field] is not None]).encode(
            x=alt.X(f"{field}:Q", title=f"{field} per job"), color=self._color
        )
        bars = base.mark_rule().encode(y=alt.Y("low:Q", title="normalised score"), y2="high:Q")
        points = base.mark_point(filled=True, size=80).encode(
            y="score:Q", tooltip=["trainer:N", "score:Q", f"{field}:Q"]
        )
        return alt.layer(bars, points).properties(width=WIDTH, height=HEIGHT)

    def _steps(self, rows: Sequence[Row], *, x: str, title: str, y: str) -> Any:
        alt = self._alt
        return (
            self._chart(rows)
            .mark_line(interpolate="step-after", strokeWidth=2)
            .encode(
                x=alt.X(f"{x}:Q", title=title),
                y=alt.Y("share:Q", title=y, axis=alt.Axis(format="%")),
                color=self._color,
            )
            .properties(width=WIDTH, height=HEIGHT)
        )

    def _chart(self, rows: Sequence[Row]) -> Any:
        return self._alt.Chart(self._alt.Data(values=[*rows]))
