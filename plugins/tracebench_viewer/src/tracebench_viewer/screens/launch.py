"""From a form or a file to a config, from the config to a plan, and from the plan to a run that goes on without this page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from tracebench_core.errors import TraceBenchError
from tracebench_engine.api.analysis import AXES
from tracebench_viewer import launching, parts
from tracebench_viewer.commands import installed
from tracebench_viewer.jobcharts import UNITS, WHOLE
from tracebench_viewer.launching import Wish
from tracebench_viewer.look import number

FORM, FILE = "A form", "A config file"


def draw() -> None:
    """Draw the page."""
    parts.heading(
        "Launch",
        "Describe a run, see what it means and what it will use, then start it. It goes on when this page is closed.",
    )
    if parts.settings().read_only:
        parts.nothing("This viewer only shows: it was started with `--read-only`. To launch runs:", "trace-bench ui")
        return
    st.caption("Keys are never typed here: they are read from the environment that `trace-bench ui` was started in.")
    source = st.segmented_control("Start from", [FORM, FILE], default=FORM, key="source", required=True)
    try:
        offer = _form() if source == FORM else _file()
    except TraceBenchError as err:
        parts.trouble(err)
        return
    if offer is None:
        return
    text = st.text_area(
        "Config", offer, height=260, key=f"config-{hash(offer)}", help="As it will be run; edit it as you like."
    )
    _act(text)


def _form() -> str | None:
    with st.spinner("Asking what is installed"):
        told = installed("list-tasks", "list-trainers")
    tasks = [task["id"] for task in told[0]["tasks"] if not task["unavailable"]]
    trainers = [trainer["id"] for trainer in told[1]["trainers"]]
    boxes = st.columns(2)
    chosen_tasks = boxes[0].multiselect("Tasks", tasks, key="tasks")
    chosen_trainers = boxes[1].multiselect("Trainers", trainers, key="trainers")
    boxes = st.columns([1, 1, 2, 1])
    seeds = int(boxes[0].number_input("Seeds", 1, 1000, 3, key="seeds", help="1, 2, 3, … up to this."))
    workers = int(boxes[1].number_input("Jobs at a time", 1, 256, 1, key="workers"))
    model = boxes[2].text_input(
        "Model",
        placeholder="stub: no model is asked",
        key="model",
        help="As in `openai/gpt-5-mini`; empty: the stub, which is no language model.",
    )
    record = boxes[3].checkbox(
        "Record",
        value=True,
        key="record",
        help="Record prompts and replies, for the page of a job and for replays.",
    )
    boxes = st.columns(len(AXES), vertical_alignment="bottom")
    caps: dict[str, float] = {axis: _cap(box, axis) for box, axis in zip(boxes, AXES, strict=True)}
    if not chosen_tasks or not chosen_trainers:
        st.caption("Choose a task and a trainer, at the least.")
        return None
    budget = {axis: cap for axis, cap in caps.items() if cap > 0}
    mode = "real" if model.strip() else "stub"
    return launching.config_text(
        Wish(
            chosen_tasks,
            chosen_trainers,
            range(1, seeds + 1),
            mode,
            model.strip(),
            budget,
            workers,
            tags=(),
            record=record,
        )
    )


def _cap(box: Any, axis: str) -> float:
    if axis in WHOLE:
        start = 100 if axis == "evaluations" else 0
        return int(box.number_input(f"Cap: {UNITS[axis]}", 0, value=start, key=f"cap-{axis}", help="0: no cap"))
    return float(box.number_input(f"Cap: {UNITS[axis]}", 0.0, value=0.0, key=f"cap-{axis}", help="0: no cap"))


def _file() -> str | None:
    folder = Path(st.text_input("Folder of configs", parts.settings().configs_dir, key="folder"))
    found = launching.known_configs(folder)
    if not found:
        parts.nothing("There is no config in this folder.", "trace-bench config schema")
        return None
    path = st.selectbox("Config file", found, format_func=lambda p: p.name, key="file")
    try:
        return path.read_text(encoding="utf-8", errors="replace") if path is not None else None
    except OSError as err:
        st.warning(parts.plain(f"It cannot be read: {err.strerror}."))
        return None


def _act(text: str) -> None:
    boxes = st.columns([1, 1, 1, 3])
    runs_dir = parts.settings().runs
    try:
        if boxes[0].button("Show in full", icon=":material/fact_check:", key="resolve"):
            st.json(launching.resolve(text, runs_dir), expanded=1)
        if boxes[1].button("Plan", icon=":material/calculate:", key="plan"):
            with st.spinner("Opening every task once"):
                _plan(launching.plan(text, runs_dir))
        if boxes[2].button("Start", icon=":material/rocket_launch:", type="primary", key="start"):
            with st.spinner("Starting"):
                started = launching.start(text, runs_dir)
            parts.shelf().look(now=True)
            parts.go("run", run=Path(started["run_dir"]).name)
    except TraceBenchError as err:
        parts.trouble(err)


def _plan(plan: dict[str, Any]) -> None:
    st.subheader("Plan", anchor=False)
    st.caption(
        f"{len(plan['jobs'])} jobs, {plan['workers']} at a time; learned from {plan['past_jobs']} past jobs. Low, likely, high:"
    )
    boxes = st.columns(len(AXES))
    for box, axis in zip(boxes, AXES, strict=True):
        amount = plan["total"][axis]
        box.metric(UNITS[axis], "unknown" if amount is None else number(amount["likely"]), help=None)
        if amount is not None:
            box.caption(f"{number(amount['low'])} to {number(amount['high'])}")
    for warning in plan["warnings"]:
        st.warning(parts.plain(warning))
    rows = [
        {
            "task": j["task_id"],
            "trainer": j["label"] or j["trainer_id"],
            "seed": j["seed"],
            **{a: (j[a] or {}).get("likely") for a in AXES},
        }
        for j in plan["jobs"]
    ]
    parts.table(rows, alt="Planned jobs", height=260)


draw()
