"""The charts of one job in Vega-Lite: its candidates on the score curve, their tree, and what was measured of each on every example.

They are written as data, not drawn by Altair: that copies and checks every row, which takes seconds where a job has thousands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tracebench_viewer.jobview import Row
from tracebench_viewer.look import BLUE, GREEN, GREY, ORANGE, VERDICT_COLORS, VERMILLION

Spec = dict[str, Any]

SHOWN = 60
"""Candidates, and examples, that a matrix shows at a time."""
SHAPES = {
    "best": "diamond", "led": "triangle-up", "accepted": "circle", "indecisive": "square", "rejected": "cross", "no verdict": "circle",
    "others": "square",
}  # fmt: skip
PICKED = "picked"
UNITS = {
    "evaluations": "evaluations",
    "llm_calls": "model calls",
    "tokens": "tokens",
    "usd": "USD",
    "seconds": "seconds",
}
WHOLE = frozenset({"evaluations", "llm_calls", "tokens"})
AROUND = 125
"""Pixels that axis, titles and legend take of a chart's height."""
_CLICKS = {"name": PICKED, "select": {"type": "point", "fields": ["candidate"], "on": "click", "clear": "dblclick"}}


def score_chart(curve: Sequence[Row], points: Sequence[Row], *, axis: str) -> Spec:
    """Draw the best so far as steps, and every candidate where it was measured last; a click picks one."""
    ticks = {"tickMinStep": 1, "format": ",d"} if axis in WHOLE else {}
    place = {
        "x": {"field": "x", "type": "quantitative", "title": f"{UNITS[axis]} used", "axis": ticks},
        "y": {"field": "score", "type": "quantitative", "title": "score", "scale": {"zero": False}},
    }
    mark = {"type": "line", "interpolate": "step-after", "color": GREEN, "strokeWidth": 2}
    line = {"data": _data(curve), "mark": mark, "encoding": place}
    return {"height": 220 + AROUND, "params": [_clicks()], "layer": [line, _dots(points, place)]}


def lineage_chart(nodes: Sequence[Row], edges: Sequence[Row]) -> Spec:
    """Draw candidates as nodes, a generation to the right of their parents; a click picks one."""
    place = {
        "x": {
            "field": "x",
            "type": "quantitative",
            "title": "generation",
            "axis": {"tickMinStep": 1, "format": "d", "grid": False},
        },
        "y": {"field": "y", "type": "quantitative", "title": None, "axis": None, "scale": {"reverse": True}},
    }
    mark = {"type": "rule", "color": GREY, "opacity": 0.5, "strokeWidth": 1}
    lines = {"data": _data(edges), "mark": mark, "encoding": {**place, "x2": {"field": "x2"}, "y2": {"field": "y2"}}}
    several = [{**node, "told": f"+{node['count']}"} for node in nodes if node["count"] > 1]
    named = {"type": "text", "dx": 9, "align": "left", "baseline": "middle", "color": GREY}
    counts = {
        "data": _data(several),
        "mark": named,
        "encoding": {**place, "text": {"field": "told", "type": "nominal"}},
    }
    width = max((node["y"] for node in nodes), default=0) + 1
    layers = [lines, _dots(nodes, place), *([counts] if several else [])]
    return {"height": AROUND + min(480, 26 * width), "params": [_clicks()], "layer": layers}


def matrix_chart(cells: Sequence[Row], examples: Sequence[str]) -> Spec:
    """Draw examples by candidates: colour is the score, a cross a failure, a question mark what could not be measured, and nothing
    what was not evaluated."""
    names = ("candidate", "#", "example", "split", "status", "score")
    shown = [{**{name: cell[name] for name in names}, "mark": _mark(cell)} for cell in cells]
    below = {"labelAngle": 0, "labelOverlap": True}
    place = {
        "x": {"field": "#", "type": "ordinal", "title": "candidate (in order of appearance)", "axis": below},
        "y": {
            "field": "example",
            "type": "nominal",
            "title": "example",
            "sort": [*examples],
            "axis": {"labelLimit": 140},
        },
        "tooltip": _tooltip("candidate", "example", "split", "status", score="quantitative"),
    }
    score = {
        "field": "score",
        "type": "quantitative",
        "scale": {"scheme": "viridis"},
        "legend": {"title": "score"},
    }
    measured = {
        "transform": [{"filter": "datum.status === 'ok'"}],
        "mark": "rect",
        "encoding": {**place, "color": score},
    }
    failed = {
        "transform": [{"filter": "datum.status !== 'ok'"}],
        "mark": {"type": "text", "fontWeight": "bold", "color": VERMILLION},
        "encoding": {**place, "text": {"field": "mark", "type": "nominal"}},
    }
    return {"height": AROUND + 18 * len(examples), "data": _data(shown), "layer": [measured, failed]}


def usage_chart(rows: Sequence[Row]) -> Spec:
    """Draw what the roles used in tokens."""
    kinds = {"prompt": BLUE, "completion": ORANGE}
    long = [{"role": row["role"], "kind": kind, "tokens": row[f"{kind} tokens"]} for row in rows for kind in kinds]
    return {
        "height": AROUND + 34 * len(rows),
        "data": _data(long),
        "mark": "bar",
        "encoding": {
            "x": {"field": "tokens", "type": "quantitative", "title": "tokens"},
            "y": {"field": "role", "type": "nominal", "title": None},
            "color": _scale("kind", kinds),
            "tooltip": _tooltip("role", "kind", tokens="quantitative"),
        },
    }


def _dots(rows: Sequence[Row], place: Mapping[str, Any]) -> Spec:
    there = {row["verdict"] for row in rows}
    colors = {verdict: color for verdict, color in VERDICT_COLORS.items() if verdict in there}
    return {
        "name": "dots",
        "data": _data(rows),
        "mark": {"type": "point", "filled": True, "size": 110},
        "encoding": {
            **place,
            "color": _scale("verdict", colors),
            "shape": _scale("verdict", {verdict: SHAPES[verdict] for verdict in colors}),
            "opacity": {"condition": {"param": PICKED, "value": 1.0}, "value": 0.45},
            "tooltip": _tooltip("candidate", "verdict", "origin", score="quantitative", delta="quantitative"),
        },
    }


def _clicks() -> Spec:
    return {**_CLICKS, "views": ["dots"]}


def _scale(field: str, values: Mapping[str, str]) -> Spec:
    legend = {"title": None, "orient": "top"}
    scale = {"domain": [*values], "range": [*values.values()]}
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}


def _tooltip(*names: str, **numbers: str) -> list[Spec]:
    return [{"field": name, "type": kind} for name, kind in {**dict.fromkeys(names, "nominal"), **numbers}.items()]


def _mark(cell: Row) -> str:
    return "" if cell["status"] == "ok" else "?" if cell["status"] == "not_measured" else "✕"


def _data(rows: Sequence[Row]) -> Spec:
    return {"values": [*rows]}
