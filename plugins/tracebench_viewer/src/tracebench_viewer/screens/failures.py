"""What failed over all runs, in groups, each with a reason and the command to run it again."""

from __future__ import annotations

import shlex

import streamlit as st

from tracebench_viewer import parts
from tracebench_viewer.look import mark
from tracebench_viewer.shown import visible


def draw() -> None:
    """Draw the page."""
    parts.heading("Failures", "Jobs that failed, timed out, were cancelled or skipped, by error, task and trainer.")
    shelf = parts.shelf()
    shelf.look()
    groups = shelf.failures()
    if not groups:
        parts.nothing("No job failed.")
        return
    wanted = st.multiselect("Run", sorted({run for group in groups for run in group["runs"]}), placeholder="all")
    groups = [group for group in groups if not wanted or {*wanted} & {*group["runs"]}]
    rows = [
        {"error": g["error"], "status": mark(g["status"]), "task": g["task"], "trainer": g["trainer"], "jobs": g["jobs"],
         "runs": len(g["runs"]), "said": g["said"] or g["stop_reason"] or ""}
        for g in groups
    ]  # fmt: skip
    row, _ = parts.table(rows, key="failures", opens=True, alt="Groups of failures")
    if row is None:
        st.caption("Click a group to see its jobs' reason and how to run them again.")
        return
    group = groups[row]
    st.subheader(parts.plain(f"{group['error']} on {group['task']} by {group['trainer']}"), anchor=False)
    parts.long_text(group["said"] or group["stop_reason"] or "(it said nothing)", name="reason.txt", key="reason")
    if group["status"] in {"failed", "timeout"}:
        kind = f" --error-type {shlex.quote(group['error_type'])}" if group["error_type"] else ""
        lines = [
            f"trace-bench resume {shlex.quote(str(parts.settings().runs / run))} --failed{kind}"
            for run in group["runs"]
        ]
        st.caption("Run all of them again:")
        st.code(visible("\n".join(lines)), language=None, wrap_lines=True)
    if st.button("Open one of them", icon=":material/account_tree:"):
        parts.go("job", run=group["name"], job=group["job_id"])


draw()
