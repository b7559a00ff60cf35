"""The view of a job: the speed-up of every candidate with the noise of its timing, and the band in which nothing is told apart."""

from __future__ import annotations

from statistics import median
from typing import Any

from tracebench_core.specs.events import CandidateSeen, EvaluationDone
from tracebench_runs import Run

BLUE, GREY, VERMILLION = "#0072B2", "#8A8F98", "#D55E00"


def view(run: Run, job_id: str | None) -> dict[str, Any] | None:
    """Return the chart in Vega-Lite; None for a whole run, and before a kernel was timed."""
    if job_id is None:
        return None
    order: dict[str, int] = {}
    rows: list[dict[str, Any]] = []
    for event in run.events(job_id):
        if isinstance(event, CandidateSeen):
            order.setdefault(event.id, len(order))
        elif isinstance(event, EvaluationDone) and event.candidate in order:
            rows.append(_row(event, order[event.candidate]))
    timed = [row for row in rows if row["speedup"] is not None]
    return _chart(rows, noise=median(row["noise"] for row in timed)) if timed else None


def _row(event: EvaluationDone, number: int) -> dict[str, Any]:
    speedup, noise = event.metrics.get("speedup_raw"), event.metrics.get("noise")
    known = event.status == "ok" and speedup is not None and noise is not None and speedup > 0
    row = {"number": number, "candidate": event.candidate, "problem": event.example, "status": event.status}
    if not known or speedup is None or noise is None:
        return {**row, "speedup": None, "noise": None, "low": None, "high": None}
    return {**row, "speedup": speedup, "noise": noise, "low": speedup / (1 + noise), "high": speedup * (1 + noise)}


def _chart(rows: list[dict[str, Any]], *, noise: float) -> dict[str, Any]:
    across = {
        "field": "number",
        "type": "quantitative",
        "title": "candidate",
        "axis": {"tickMinStep": 1, "format": "d"},
    }
    scale = {"type": "log", "nice": False}
    up = {"field": "speedup", "type": "quantitative", "title": "speed-up (log)", "scale": scale}
    tips = [{"field": name} for name in ("candidate", "problem", "status", "speedup", "noise")]
    band = {"low": 1 / (1 + noise), "high": 1 + noise}
    wrong = [row for row in rows if row["speedup"] is None]
    return {
        "height": 320,
        "layer": [
            {
                "data": {"values": [band]},
                "mark": {"type": "rect", "color": GREY, "opacity": 0.25},
                "encoding": {"y": {"field": "low", "type": "quantitative", "scale": scale}, "y2": {"field": "high"}},
            },
            {
                "data": {"values": [row for row in rows if row["speedup"] is not None]},
                "encoding": {"x": across},
                "layer": [
                    {
                        "mark": {"type": "rule", "color": BLUE},
                        "encoding": {"y": {**up, "field": "low"}, "y2": {"field": "high"}},
                    },
                    {
                        "mark": {"type": "point", "filled": True, "size": 70, "color": BLUE},
                        "encoding": {"y": up, "tooltip": tips},
                    },
                ],
            },
            {
                "data": {"values": wrong},
                "mark": {"type": "text", "text": "✕", "color": VERMILLION, "baseline": "bottom"},
                "encoding": {"x": across, "y": {"value": 318}, "tooltip": tips},
            },
        ],
    }
