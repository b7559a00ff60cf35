"""The plot that autoresearch's users know: every experiment's metric, and the best so far labelled by the change that was kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tracebench_autoresearch.history.reading import Experiment, History, read_history
from tracebench_engine.api.records import Run

_LABEL = 44
_MARGIN = 0.15
_SHAPES = {
    "baseline": ("#222222", "diamond"),
    "keep": ("#009E73", "circle"),
    "indecisive": ("#E69F00", "square"),
    "discard": ("#999999", "circle"),
    "ablation": ("#CC79A7", "triangle-up"),
    "measured": ("#56B4E9", "circle"),
    "failed": ("#D55E00", "cross"),
}
"""Colours as in all charts of a report (Okabe and Ito, 2008), and shapes for those who cannot tell them apart."""


def view(run: Run, job_id: str | None) -> dict[str, Any] | None:
    """Return the plot for a job's page; none for a run's, nor before the first measurement."""
    if job_id is None or not (history := read_history(run, job_id)).experiments:
        return None
    return progress(history)


def points(history: History) -> Iterator[dict[str, Any]]:
    """Yield one row for each experiment, oldest first, with the best so far.

    `value` is the mean of the metric, None where nothing was measured. What is best is what was kept; under a trainer that decides
    nothing, what measured better than everything before.
    """
    kept = {one.candidate for one in history.kept}
    decided = any(one.verdict for one in history.experiments)
    best: float | None = None
    for one in history.experiments:
        better = one.candidate in kept if decided else _is_better(one.value, best, history.direction)
        if better and one.value is not None:
            best = one.value
        yield {
            "number": one.number,
            "value": one.value,
            "best": best,
            "status": one.status if one.status in _SHAPES else "failed",
            "label": _short(one) if better and one.value is not None else "",
            "description": " ".join(one.description.split()),
            "outcome": one.status,
            "reason": one.reason,
            "runs": len(one.values),
        }


def progress(history: History) -> dict[str, Any]:
    """Return the plot as Vega-Lite. Values beyond the scale, which is set by what was kept, are drawn at its edge."""
    rows = [*points(history)]
    measured = [row for row in rows if row["value"] is not None]
    failed = [row | {"value": _edge(rows, history.direction)} for row in rows if row["value"] is None]
    kept = sum(row["status"] == "keep" for row in rows)
    statuses = [status for status in _SHAPES if any(row["status"] == status for row in rows)]
    x = {"field": "number", "type": "quantitative", "title": "experiment", "axis": {"tickMinStep": 1}}
    y = {
        "field": "value",
        "type": "quantitative",
        "title": f"{history.metric} ({history.direction})",
        "scale": _scale(rows),
    }
    domain = {"domain": statuses, "range": [_SHAPES[status][0] for status in statuses]}
    shape = {"domain": statuses, "range": [_SHAPES[status][1] for status in statuses]}
    tips = [{"field": name} for name in ("number", "description", "outcome", "value", "runs", "reason")]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": f"{history.task}: {len(rows)} experiments, {kept} kept" if kept else f"{history.task}: {len(rows)} experiments",
        "width": 760,
        "height": 380,
        "layer": [
            {
                "data": {"values": [row for row in rows if row["best"] is not None]},
                "mark": {"type": "line", "interpolate": "step-after", "color": "#009E73", "strokeWidth": 2},
                "encoding": {"x": x, "y": y | {"field": "best"}},
            },
            {
                "data": {"values": measured + failed},
                "mark": {"type": "point", "filled": True, "size": 70, "opacity": 0.9},
                "encoding": {
                    "x": x, "y": y, "tooltip": tips,
                    "color": {"field": "status", "type": "nominal", "scale": domain, "title": None},
                    "shape": {"field": "status", "type": "nominal", "scale": shape, "title": None},
                },
            },
            {
                "data": {"values": [row for row in measured if row["label"]]},
                "mark": {"type": "text", "angle": 330, "align": "left", "dx": 6, "dy": -6, "fontSize": 10},
                "encoding": {"x": x, "y": y, "text": {"field": "label"}},
            },
        ],
    }  # fmt: skip


def _scale(rows: list[dict[str, Any]]) -> dict[str, Any]:
    known = [row["best"] for row in rows if row["best"] is not None] or [0.0]
    low, high = min(known), max(known)
    margin = _MARGIN * (high - low) or abs(high) * _MARGIN or 1.0
    return {"zero": False, "domain": [low - margin, high + margin], "clamp": True, "nice": False}


def _edge(rows: list[dict[str, Any]], direction: str) -> float:
    """Return the worse edge of the scale, where experiments without a value stand."""
    edge: float = _scale(rows)["domain"][1 if direction == "minimize" else 0]
    return edge


def _is_better(value: float | None, best: float | None, direction: str) -> bool:
    if value is None or best is None:
        return value is not None
    return value > best if direction == "maximize" else value < best


def _short(one: Experiment) -> str:
    words = " ".join(one.description.split()) or one.candidate
    return words if len(words) <= _LABEL else f"{words[: _LABEL - 1]}…"
