"""Every run of the folder: what it is, how far it is, and what it used."""

from __future__ import annotations

from typing import Any

import streamlit as st

from tracebench_viewer import parts
from tracebench_viewer.look import duration, mark
from tracebench_viewer.shelf import Filter

EVERY = 3
"""Seconds between two looks while a run is under way."""


def draw() -> None:
    """Draw the page."""
    parts.heading("Runs", "Click a run to open it; tick several to compare them.")
    shelf = parts.shelf()
    shelf.look()
    runs = shelf.runs()
    if not runs and not shelf.last.left:
        parts.nothing(
            "There is no run in this folder yet.",
            "trace-bench init config mine.yaml && trace-bench run --config mine.yaml",
        )
        return
    wanted = _filter(runs)
    shelf.verdicts.of(runs)
    live = (
        any(run["running"] or run["state"] in {"running", "paused"} for run in runs)
        or bool(shelf.last.left)
        or shelf.verdicts.are_pending()
    )
    st.fragment(_list, run_every=EVERY if live else None)(wanted)


def _filter(runs: list[dict[str, Any]]) -> Filter:
    shelf = parts.shelf()
    boxes = st.container(key="filters").columns([2, 2, 2, 2, 1.5])
    text = boxes[0].text_input("Name", placeholder="part of a run's name", key="filter-text")
    found = {
        name: boxes[i].multiselect(
            name.capitalize(), shelf.choices(name, runs), key=f"filter-{name}", placeholder="all"
        )
        for i, name in enumerate(("tasks", "trainers", "models", "tags"), start=1)
    }
    return Filter(**found, text=text)


def _list(wanted: Filter) -> None:
    shelf = parts.shelf()
    left = shelf.look().left
    runs = shelf.runs(wanted)
    if left:
        st.caption(f"{left} runs are still to be read.")
    if not runs:
        parts.nothing("No run is what the filters ask for.")
        return
    verdicts = shelf.verdicts.of(runs)
    opened, picked = parts.table(
        [_row(run, verdicts.get(run["name"], "")) for run in runs],
        key="runs",
        columns=_columns(),
        opens=True,
        picks=True,
        alt="List of runs",
        height=parts.tall(len(runs)),
    )
    if opened is not None:
        parts.go("run", run=runs[opened]["name"])
    names = [runs[i]["name"] for i in picked]
    if names and st.button(
        f"Compare {len(names)} run{'s' if len(names) > 1 else ''}", icon=":material/leaderboard:", type="primary"
    ):
        parts.go("compare", runs=",".join(names))
    broken = [run for run in runs if run["problem"]]
    if broken:
        with st.expander(f"{len(broken)} that cannot be read", icon=":material/warning:"):
            parts.table([{"run": run["name"], "why": run["problem"]} for run in broken], alt="Runs that cannot be read")


def _row(run: dict[str, Any], verdict: str) -> dict[str, Any]:
    counts = run["counts"]
    failed = sum(counts.get(status, 0) for status in ("failed", "timeout"))
    return {
        "run": run["name"],
        "state": mark(run["state"]),
        "done": run["done"] / run["jobs"] if run["jobs"] else None,
        "jobs": run["jobs"],
        "failed": failed if run["jobs"] else None,
        "started (UTC)": (run["created_at"] or "")[:16].replace("T", " "),
        "took": duration(run["wall_seconds"]) if run["wall_seconds"] is not None else "",
        "verdict": verdict,
        "USD": run["usd"],
        "tasks": _names(run["tasks"]),
        "trainers": _names(run["trainers"]),
        "model": _names(run["models"]),
        "evaluations": run["evaluations"],
        "tokens": run["tokens"],
        "idle": duration(run["idle"]) if run["idle"] is not None else "",
        "protection": run["protection"] or "",
        "tags": _names(run["tags"]),
    }


def _columns() -> dict[str, Any]:
    config = st.column_config
    return {
        "run": config.TextColumn(pinned=True, width="medium"),
        "done": config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0, width="small"),
        "tasks": config.TextColumn(width="medium"),
        "trainers": config.TextColumn(width="medium"),
        "verdict": config.TextColumn(width="large", help="What `trace-bench compare` says of the run alone."),
        "idle": config.TextColumn(help="For how long no job under way has written anything."),
        "evaluations": config.NumberColumn(format="localized"),
        "tokens": config.NumberColumn(format="localized"),
        "USD": config.NumberColumn(format="$%.4f", help="Empty where a price is not known."),
    }


def _names(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")  # noqa: PLR2004


draw()
