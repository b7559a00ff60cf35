"""Any number of runs side by side: who is better, by how much, how sure it is, and what turned."""

from __future__ import annotations

from typing import Any

import streamlit as st

from tracebench_core.errors import TraceBenchError
from tracebench_engine.api.analysis import AXES, Charts
from tracebench_viewer import parts
from tracebench_viewer.comparing import compared, config_differences
from tracebench_viewer.jobcharts import UNITS

BESIDE = ("cost", "profile", "reached", "ranks")
NO_BASELINE = "everyone with everyone"
AROUND, LOWEST, TALL = 70, 170, 380
"""Pixels that axes and legend take of a chart's height here, and the heights of the lowest chart and of the curves."""


def draw() -> None:
    """Draw the page."""
    parts.heading("Compare", "Jobs are paired by task and seed, and cut at the smallest common budget.")
    shelf = parts.shelf()
    shelf.look()
    runs = [run for run in shelf.runs() if not run["problem"]]
    names = [run["name"] for run in runs]
    if not names:
        parts.nothing("There is no run to compare yet.", "trace-bench run --config configs/packing.yaml")
        return
    asked = [name for name in (parts.asked("runs") or parts.asked("run")).split(",") if name]
    if unknown := [name for name in asked if name not in names]:
        parts.no_such_run(unknown[0], runs, page="compare")
        return
    chosen = st.multiselect("Runs", names, default=asked or names[:1], key=f"runs-{','.join(asked)}")
    if not chosen:
        parts.nothing("Choose one run or more.")
        return
    st.query_params["runs"] = ",".join(chosen)
    st.query_params.pop("run", None)
    _comparison(chosen)


def _comparison(names: list[str]) -> None:
    boxes = st.columns([2, 2])
    axis = str(boxes[0].selectbox("Compare at equal", AXES, format_func=lambda a: UNITS[a], key="cut-axis"))
    try:
        runs = [parts.reader().run(name) for name in names]
        entrants = sorted({trainer for name in names for trainer in (parts.shelf().run(name) or {})["trainers"]})
        baselines = [NO_BASELINE, *(run.run_id for run in runs if len(runs) > 1), *entrants]
        baseline = str(boxes[1].selectbox("Baseline", baselines, key="baseline"))
        stamps = [str((parts.shelf().run(name) or {}).get("stamp")) for name in names]
        found = compared(
            parts.shelf().index,
            runs,
            stamps=stamps,
            baseline=None if baseline == NO_BASELINE else baseline,
            axis=axis,  # type: ignore[arg-type]  # one of AXES
        )
    except TraceBenchError as err:
        parts.trouble(err)
        _differences(names)
        return
    data = found["data"]
    st.info(parts.plain(data["verdict"]), icon=":material/gavel:")
    if data["next_step"]:
        st.caption(parts.plain(data["next_step"]))
    _changes(found)
    _leaderboard(found)
    _curves(found)
    _figures(found)
    with st.expander(f"Remarks ({len(data['remarks'])})", expanded=bool(data["remarks"])):
        for remark in data["remarks"]:
            st.caption(parts.plain(remark))
    _tables(found)
    _differences(names)


def _changes(found: dict[str, Any]) -> None:
    if found["data"]["baseline"] is None:
        return
    changes = sorted(found["changes"], key=lambda change: not change["is_worse"])
    st.subheader("What turned", anchor=False)
    if not changes:
        st.caption("No job ended on another side than the baseline's.")
        return
    worse = sum(change["is_worse"] for change in changes)
    st.caption(f"{worse} turned worse, {len(changes) - worse} better; worse first.")
    rows = [
        {
            "": "▼" if c["is_worse"] else "▲",
            "task": c["task"],
            "entrant": c["entrant"],
            "seed": c["seed"],
            "change": c["what"],
            "baseline": c["baseline"],
        }
        for c in changes
    ]
    parts.table(rows, alt="Jobs that turned")


def _leaderboard(found: dict[str, Any]) -> None:
    st.subheader("Leaderboard", anchor=False)
    floor = found["data"]["noise_floor"]["split"]
    noise = "" if floor is None else f" Noise floor: equal trainers come out up to {floor:.3g} apart."
    st.caption(
        "Score: the initial candidate is 0, the best score seen 1; low and high: 95 %, for other seeds on these tasks. "
        "Use: mean of a job." + noise
    )
    rows = [
        {"trainer": s["entrant"], "score": _bound(s["mean"], "estimate"), "low": _bound(s["mean"], "low"),
         "high": _bound(s["mean"], "high"), "IQM": _bound(s["iqm"], "estimate"),
         "n": s["n"], "failed": s["failed"], "val - test": s["gap"], "rank": s["mean_rank"],
         "evaluations": _whole(s["use"]["evaluations"]), "tokens": _whole(s["use"]["tokens"]),
         "USD": s["use"]["usd"], "seconds": s["use"]["seconds"]}
        for s in found["data"]["leaderboard"]
    ]  # fmt: skip
    number = st.column_config.NumberColumn(format="%.4g")
    whole = st.column_config.NumberColumn(format="localized")
    columns = dict.fromkeys(("score", "low", "high", "IQM", "val - test", "rank", "seconds"), number) | {
        "evaluations": whole,
        "tokens": whole,
    }
    parts.table(rows, columns=columns | {"USD": st.column_config.NumberColumn(format="$%.4f")}, alt="Leaderboard")
    if "leaderboard" in found["figures"]:
        _figure(found["figures"]["leaderboard"], "leaderboard")


def _bound(interval: dict[str, Any] | None, name: str) -> float | None:
    value = interval[name] if interval is not None else None
    return None if value is None else round(value, 9) + 0.0  # what is left of a difference of equals is nothing


def _whole(amount: float | None) -> int | None:
    return None if amount is None else round(amount)


def _curves(found: dict[str, Any]) -> None:
    axes = list(dict.fromkeys(row["axis"] for row in found["curves"]))
    if not axes:
        return
    st.subheader("Best so far", anchor=False)
    axis = st.segmented_control(
        "Axis", axes, default=axes[0], format_func=lambda a: UNITS[a], key="curve-axis", required=True
    )
    drawn = (
        Charts(found["entrants"])
        .curves([row for row in found["curves"] if row["axis"] == axis])
        .properties(height=TALL)
        .to_dict(validate=False)
    )
    parts.chart(drawn, alt=f"Best so far by {UNITS[str(axis)]} used", key=f"curves-{axis}")
    st.caption(parts.plain(found["figures"]["curves"]["caption"]))


def _figures(found: dict[str, Any]) -> None:
    shown = [name for name in BESIDE if name in found["figures"]]
    for pair in (shown[i : i + 2] for i in range(0, len(shown), 2)):
        for box, name in zip(st.columns(2), pair, strict=False):
            with box:
                _figure(found["figures"][name], name)


def _figure(figure: dict[str, Any], name: str) -> None:
    spec = {k: v for k, v in figure["spec"].items() if k != "config"}
    if "height" in spec:
        spec["height"] = max(spec["height"] + AROUND, LOWEST)
    st.caption(parts.plain(figure["caption"]))
    parts.chart(spec, alt=figure["caption"], key=f"figure-{name}")


def _tables(found: dict[str, Any]) -> None:
    for i, section in enumerate(found["tables"]):
        if section["title"] == "Leaderboard":
            continue
        with st.expander(parts.plain(section["title"])):
            if section["note"]:
                st.caption(parts.plain(section["note"]))
            headers = [header or "verdict" for header in section["headers"]]
            parts.table(
                [dict(zip(headers, row, strict=True)) for row in section["rows"]],
                alt=section["title"],
                key=f"section-{i}",
            )


def _differences(names: list[str]) -> None:
    if len(names) < 2:  # noqa: PLR2004 - one run differs from nothing
        return
    st.subheader("In what the configs differ", anchor=False)
    try:
        rows = config_differences([parts.reader().run(name) for name in names])
    except TraceBenchError:
        return
    if rows:
        parts.table(rows, alt="Fields in which the configs differ")
    else:
        st.caption("In nothing.")


draw()
