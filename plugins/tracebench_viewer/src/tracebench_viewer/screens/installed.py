"""What can be run here: tasks, trainers and plugins; what cannot, and the command that changes it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from tracebench_core.errors import TraceBenchError
from tracebench_viewer import parts
from tracebench_viewer.commands import forget, installed


def draw() -> None:
    """Draw the page."""
    parts.heading("Tasks and trainers", "As the commands `list-tasks`, `list-trainers` and `plugins` tell it.")
    if st.button("Look again", icon=":material/refresh:"):
        forget()
    text = st.text_input("Filter", placeholder="part of a name").casefold()
    try:
        with st.spinner("Asking what is installed"):
            told = installed("list-tasks", "list-trainers --all", "plugins")
    except TraceBenchError as err:
        parts.trouble(err)
        return
    tasks, trainers, plugins = told[0]["tasks"], told[1]["trainers"], told[2]["plugins"]
    tabs = st.tabs([f"Tasks ({len(tasks)})", f"Trainers ({len(trainers)})", f"Plugins ({len(plugins)})"])
    with tabs[0]:
        _tasks([task for task in tasks if text in task["id"].casefold()])
    with tabs[1]:
        rows = [{"trainer": t["id"], "here": "● yes" if t["available"] else "○ no", "title": t["title"],
                 "what is missing": t["reason"] or ""}
                for t in trainers if text in t["id"].casefold()]  # fmt: skip
        _table(rows, "Trainers")
    with tabs[2]:
        _table(
            [{k: p[k] or "" for k in ("name", "distribution", "version", "status", "error")} for p in plugins],
            "Plugins",
        )


def _tasks(tasks: list[dict[str, Any]]) -> None:
    if not tasks:
        parts.nothing("No task is called so.")
        return
    rows = [
        {"task": t["id"], "here": "○ no" if t["unavailable"] else "● yes", "title": t["title"],
         "what is missing": t["unavailable"] or "", "metric": t["metric"] or "",
         "direction": t["direction"] or "", "licence": t["licence"] or "", "tags": ", ".join(t["tags"])}
        for t in tasks
    ]  # fmt: skip
    row, _ = parts.table(rows, key="tasks", opens=True, alt="Tasks", height=420)
    if row is not None:
        parts.long_text(tasks[row]["description"] or "(no description)", name="task.txt", key="task")


def _table(rows: list[dict[str, Any]], alt: str) -> None:
    if rows:
        parts.table(rows, alt=alt, height=420)
    else:
        parts.nothing("Nothing is called so.")


draw()
