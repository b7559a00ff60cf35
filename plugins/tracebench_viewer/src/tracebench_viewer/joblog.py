"""The parts of a job's page that tell what its models said, what it printed, and which files it left."""

from __future__ import annotations

import streamlit as st

from tracebench_core.errors import TraceBenchError
from tracebench_viewer import jobcharts, parts, steering
from tracebench_viewer.calltexts import read_texts
from tracebench_viewer.jobview import JobView

CALLS_A_PAGE = 200


def draw_calls(job: JobView, run_name: str) -> None:
    """Draw the calls of a job, and the words of the one that is clicked."""
    if not job.calls:
        parts.nothing("The job asked no model.")
        return
    usage = job.usage_rows()
    if usage:
        parts.table(usage, alt="What each role used")
        parts.chart(jobcharts.usage_chart(usage), alt="Tokens by role", key="usage")
    rows = job.call_rows()
    pages = -(-len(rows) // CALLS_A_PAGE)
    page = int(st.number_input(f"Page (of {pages})", 1, pages, 1, key="calls-page")) if pages > 1 else 1
    shown = rows[(page - 1) * CALLS_A_PAGE : page * CALLS_A_PAGE]
    row, _ = parts.table(
        shown, key=f"calls-{page}", opens=True, alt="Model calls", height=min(360, 36 * (len(shown) + 1) + 3),
        columns={"usd": st.column_config.NumberColumn("USD", format="$%.5f"), "seconds": st.column_config.NumberColumn(format="%.2f")},
    )  # fmt: skip
    if row is None:
        st.caption("Click a call to read its prompt and reply.")
        return
    call = job.calls[(page - 1) * CALLS_A_PAGE + row]
    try:
        said = read_texts(parts.reader().run(run_name).layout, job.spec.job_id, job.calls, call)
    except TraceBenchError as err:
        parts.trouble(err)
        return
    if not said:
        parts.nothing(
            "The words of this call were not recorded. To keep them:",
            "trace-bench run --config FILE -o llm.record=true",
        )
    for i, (who, text) in enumerate(said):
        st.caption(parts.plain(f"{who}, call {call.call}"))
        parts.long_text(text, name=f"call-{call.call}-{who}.txt", key=f"said-{call.call}-{i}")


def draw_files(job: JobView) -> None:
    """Draw what a job printed, and its files."""
    if job.layout.stdout.is_file():
        st.caption("What it printed")
        parts.long_text(steering.tail(job.layout.stdout), name="stdout.log", key="stdout", height=320)
    else:
        st.caption("It printed nothing.")
    found = (
        sorted(p for p in job.layout.artifacts.rglob("*") if p.is_file() and not p.is_symlink())[:500]
        if job.layout.artifacts.is_dir()
        else []
    )
    if not found:
        return
    row, _ = parts.table(
        [{"file": str(p.relative_to(job.layout.path)), "bytes": p.stat().st_size} for p in found],
        key="files",
        opens=True,
        alt="Files of the job",
    )
    if row is not None:
        parts.long_text(steering.tail(found[row]), name=found[row].name, key="file")
