"""The charts of one job: its candidates on the score curve, their tree, and what was measured of each on every example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracebench_core.api.analysis import altair
from tracebench_viewer.jobview import Row
from tracebench_viewer.look import BLUE, GREEN, GREY, VERDICT_COLORS, VERMILLION

SHOWN = 60
"""Candidates, and examples, that a matrix shows at a time."""
SHAPES = {"best": "diamond", "accepted": "circle", "indecisive": "square", "rejected": "cross", "no verdict": "circle"}
PICKED = "picked"
UNITS = {
    "evaluations": "evaluations",
    "llm_calls": "model calls",
    "tokens": "tokens",
    "usd": "USD",
    "seconds": "seconds",
}


def score_chart(curve: Sequence[Row], points: Sequence[Row], *, axis: str) -> Any:
    """Draw the best so far as steps, and every candidate where it was measured last; a click picks one."""
    alt = altair()
    x = alt.X("x:Q", title=f"{UNITS[axis]} used")
    line = (
        alt.Chart(_data(curve))
        .mark_line(interpolate="step-after", color=GREEN, strokeWidth=2)
        .encode(x=x, y=_score(alt))
    )
    return alt.layer(line, _dots(alt, points, x=x, y=_score(alt))).properties(height=300)


def lineage_chart(nodes: Sequence[Row], edges: Sequence[Row]) -> Any:
    """Draw candidates as nodes, a generation to the right of their parents; a click picks one."""
    alt = altair()
    x = alt.X("x:Q", title="generation", axis=alt.Axis(tickMinStep=1, format="d", grid=False))
    y = alt.Y("y:Q", title=None, axis=None, scale=alt.Scale(reverse=True))
    lines = alt.Chart(_data(edges)).mark_line(color=GREY, opacity=0.5, strokeWidth=1).encode(x=x, y=y, detail="edge:N")
    width = max((node["y"] for node in nodes), default=0) + 1
    return alt.layer(lines, _dots(alt, nodes, x=x, y=y)).properties(height=min(560, max(120, 26 * width)))


def matrix_chart(cells: Sequence[Row], examples: Sequence[str]) -> Any:
    """Draw examples by candidates: colour is the score, a cross a failure, a question mark what could not be measured, and nothing
    what was not evaluated."""
    alt = altair()
    shown = [{**cell, "mark": _mark(cell)} for cell in cells]
    base = alt.Chart(_data(shown)).encode(
        x=alt.X("#:O", title="candidate (in order of appearance)", axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y("example:N", title="example, worst first", sort=list(examples), axis=alt.Axis(labelLimit=140)),
        tooltip=["candidate:N", "example:N", "split:N", "status:N", "score:Q"],
    )
    color = alt.Color("score:Q", scale=alt.Scale(scheme="viridis"), legend=alt.Legend(title="score"))
    measured = base.transform_filter("datum.status === 'ok'").mark_rect().encode(color=color)
    failed = (
        base.transform_filter("datum.status !== 'ok'")
        .mark_text(fontWeight="bold", color=VERMILLION)
        .encode(text="mark:N")
    )
    return alt.layer(measured, failed).properties(height=max(80, 18 * len(examples)))


def usage_chart(rows: Sequence[Row]) -> Any:
    """Draw what the roles used in tokens."""
    alt = altair()
    long = [
        {"role": row["role"], "kind": kind, "tokens": row[f"{kind} tokens"]}
        for row in rows
        for kind in ("prompt", "completion")
    ]
    return (
        alt.Chart(_data(long))
        .mark_bar()
        .encode(
            x=alt.X("tokens:Q", title="tokens"),
            y=alt.Y("role:N", title=None),
            color=alt.Color(
                "kind:N", scale=alt.Scale(domain=["prompt", "completion"], range=[BLUE, "#E69F00"]), title=None
            ),
            tooltip=["role:N", "kind:N", "tokens:Q"],
        )
        .properties(height=max(60, 34 * len(rows)))
    )


def _dots(alt: Any, rows: Sequence[Row], *, x: Any, y: Any) -> Any:
    verdicts = [v for v in VERDICT_COLORS if any(row["verdict"] == v for row in rows)]
    picked = alt.selection_point(name=PICKED, fields=["candidate"], on="click", clear="dblclick")
    scale = {"domain": verdicts, "range": [VERDICT_COLORS[v] for v in verdicts]}
    return (
        alt.Chart(_data(rows))
        .mark_point(filled=True, size=110)
        .encode(
            x=x,
            y=y,
            color=alt.Color("verdict:N", scale=alt.Scale(**scale), legend=alt.Legend(title=None, orient="top")),
            shape=alt.Shape(
                "verdict:N",
                scale=alt.Scale(domain=verdicts, range=[SHAPES[v] for v in verdicts]),
                legend=alt.Legend(title=None, orient="top"),
            ),
            opacity=alt.condition(picked, alt.value(1.0), alt.value(0.45)),
            tooltip=["candidate:N", "score:Q", "delta:Q", "verdict:N", "origin:N"],
        )
        .add_params(picked)
    )


def _score(alt: Any) -> Any:
    return alt.Y("score:Q", title="score", scale=alt.Scale(zero=False))


def _mark(cell: Row) -> str:
    return "" if cell["status"] == "ok" else "?" if cell["status"] == "not_measured" else "✕"


def _data(rows: Sequence[Row]) -> Any:
    return altair().Data(values=[*rows])
