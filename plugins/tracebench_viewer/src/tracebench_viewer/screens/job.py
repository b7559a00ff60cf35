"""One job: its candidates on the score curve and as a tree, what was measured of each, what the models said, and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from tracebench_core.errors import RunDirError, TraceBenchError
from tracebench_viewer import jobcharts, jobfacts, parts, steering, views
from tracebench_viewer.diffs import as_text, side_by_side
from tracebench_viewer.joblog import draw_calls, draw_files
from tracebench_viewer.jobview import JobView, worst_examples
from tracebench_viewer.lineage import lineage
from tracebench_viewer.look import number
from tracebench_viewer.shown import visible

EVERY = 3
"""Seconds between two drawings of all of a job under way; how far it is is told each second."""
EACH_SECOND = 1
PARTS = ("candidates", "examples", "calls", "files")
"""As the address names them, beside what the tabs say."""
TABS = ("Candidates", "Examples", "Model calls", "Log and files")


def draw() -> None:
    """Draw the page."""
    parts.heading("Job")
    left, right = st.columns([2, 3])
    with left:
        run = parts.chosen_run(what="Run")
    if run is None:
        return
    jobs = parts.shelf().jobs(run["name"])
    if not jobs:
        parts.trouble(RunDirError(run["problem"] or "The run plans no job."))
        return
    with right:
        job_id = _chosen(run["name"], jobs)
    if job_id is None:
        return
    spec = next(job for job in jobs if job["job_id"] == job_id)
    told = f"{spec['task']}, {spec['trainer']}, seed {spec['seed']}, {spec['model'] or 'no model'}"
    st.caption(parts.plain(told))
    steering.cancel_job(run["name"], job_id)
    running = spec["status"] == "running"
    if running:
        st.fragment(_pace, run_every=EACH_SECOND)(run["name"], job_id)
    st.fragment(_job, run_every=EVERY if running else None)(run["name"], job_id, running=running)


def _chosen(run_name: str, jobs: list[dict[str, Any]]) -> str | None:
    ids = [job["job_id"] for job in jobs]
    wanted = parts.asked("job")
    if wanted and wanted not in ids:
        parts.no_such_job(run_name, wanted, jobs)
        return None
    labels = {
        job["job_id"]: f"{job['job_id']}  {job['task']}  {job['trainer']}  seed {job['seed']}  {job['status']}"
        for job in jobs
    }
    position = ids.index(wanted) if wanted in ids else 0
    found = str(st.selectbox("Job", ids, index=position, format_func=lambda i: visible(labels[i]), key=f"job-{wanted}"))
    if found != wanted:
        st.query_params["job"] = found
        st.query_params.pop("candidate", None)
    return found


def _pace(run_name: str, job_id: str) -> None:
    parts.shelf().look()
    live = parts.shelf().live(run_name)
    if live is None or job_id not in live.running:
        st.rerun()
    jobfacts.draw_pace(run_name, parts.reader().run(run_name).job(job_id))


def _job(run_name: str, job_id: str, *, running: bool) -> None:
    try:
        job = parts.reader().job(run_name, job_id)
    except TraceBenchError as err:
        parts.trouble(err)
        return
    jobfacts.draw_error(job, run_name)
    if not running or job.result is not None:
        jobfacts.draw_facts(job)
    if not job.events:
        if running:
            parts.nothing("The job has not begun: nothing was measured.")
        return
    draws: list[Callable[[], None]] = [
        partial(_candidates, job),
        partial(_examples, job),
        partial(draw_calls, job, run_name),
        partial(draw_files, job),
    ]
    for tab, draw_tab in zip(parts.tabs(TABS, PARTS, key="part"), draws, strict=True):
        if tab.open:
            with tab:
                draw_tab()
    views.draw(parts.reader().run(run_name), job_id)


def _candidates(job: JobView) -> None:
    if not job.candidates:
        parts.nothing("No candidate was measured.")
        return
    axis = str(
        st.segmented_control(
            "Axis",
            job.axes(),
            default=job.axes()[0],
            format_func=lambda a: jobcharts.UNITS[a],
            key="axis",
            required=True,
        )
    )
    points = job.points(axis)
    clicked = None
    if points:
        st.caption(
            "Best so far (steps; it falls where the best is measured on further examples), and every candidate where it was measured "
            "last. Click one to see it."
        )
        clicked = parts.chart(
            jobcharts.score_chart(job.curve(axis), points, axis=axis),
            alt="Score of every candidate, and the best so far",
            key=f"curve-{axis}",
            picks=True,
        )
    elif job.evaluations and all(done.by == "engine" for done in job.evaluations):
        st.caption(
            "Nothing was trained: the candidate was given. What the engine measured of it stands under Examples, row by row."
        )
    else:
        st.caption("No candidate has a score, or what they used on this axis is not known.")
    nodes, edges = lineage(job.candidates)
    if len(nodes) > 1:
        folded = len(nodes) < len(job.candidates)
        st.caption(
            "Lineage: each candidate one generation to the right of its parents."
            + (" A grey square stands for as many as its number says; the table has them all." if folded else "")
        )
        drawn = jobcharts.lineage_chart(nodes, edges)
        clicked = parts.chart(drawn, alt="Lineage of the candidates", key="lineage", picks=True) or clicked
    rows = job.table()
    score = st.column_config.NumberColumn(format="%.5g")
    row, _ = parts.table(
        rows,
        key="candidates",
        opens=True,
        columns={"score": score, "delta": score},
        alt="Candidates",
        height=min(320, 36 * (len(rows) + 1) + 3),
    )
    asked = parts.asked("candidate")
    if asked and asked not in job.candidates:
        st.warning(
            parts.plain(f"There is no candidate `{asked}` in this job; shown is its best."), icon=":material/info:"
        )
    chosen = _picked(job, clicked, rows[row]["candidate"] if row is not None else None)
    if chosen is not None:
        _candidate(job, chosen)


def _picked(job: JobView, *clicked: str | None) -> str | None:
    """Return the candidate to show: the one just clicked, else the one the address names, else the job's best."""
    before = st.session_state.setdefault("clicked", {})
    now = {i: name for i, name in enumerate(clicked) if name}
    fresh = [name for i, name in now.items() if before.get(i) != name]
    st.session_state["clicked"] = now
    best = job.result.best_candidate if job.result is not None else None
    last = job.bests[-1].candidate if job.bests else None
    for name in (*fresh, parts.asked("candidate"), best, last):
        if name in job.candidates:
            if fresh:
                st.query_params["candidate"] = name
            return name
    return next(iter(job.candidates), None)


def _candidate(job: JobView, name: str) -> None:
    seen = job.candidates[name]
    parents = [parent for parent in seen.event.parents if parent in job.candidates]
    st.subheader(f"Candidate {parts.plain(name)}", anchor=False)
    st.caption(parts.plain(
        f"number {seen.order}, {seen.verdict}{f': {seen.reason}' if seen.reason else ''}; by {seen.event.origin or 'nobody named'}; "
        f"score {number(seen.score)}" + (f", {seen.delta:+.4g} over its best parent" if seen.delta is not None else "")
    ))  # fmt: skip
    others = [*parents, *(c for c in ([next(iter(job.candidates))]) if c != name and c not in parents)]
    against = (
        st.selectbox(
            "Compare with",
            others,
            key=f"against-{name}",
            format_func=lambda c: f"{c} ({'parent' if c in parents else 'initial'})",
        )
        if others
        else None
    )
    try:
        values = job.values(name)
        before = job.values(against) if against else {}
    except TraceBenchError as err:
        parts.trouble(err)
        return
    for parameter, value in values.items():
        st.caption(parts.plain(parameter))
        text = as_text(value)
        if against is None or parameter not in before:
            parts.long_text(text, name=f"{parameter}.txt", key=f"value-{name}-{parameter}")
        elif as_text(before[parameter]) == text:
            st.caption("Unchanged.")
            parts.long_text(text, name=f"{parameter}.txt", key=f"value-{name}-{parameter}", height=200)
        else:
            parts.side_by_side(
                side_by_side(visible(as_text(before[parameter])), visible(text)),
                key=f"diff-{name}-{against}-{parameter}",
            )


def _examples(job: JobView) -> None:
    splits = sorted({done.split for done in job.evaluations})
    if not splits:
        parts.nothing("Nothing was measured.")
        return
    split = str(
        st.segmented_control(
            "Split", splits, default="validation" if "validation" in splits else splits[0], key="split", required=True
        )
    )
    cells = job.matrix(split=split)
    examples = worst_examples(cells)
    columns = sorted({cell["#"] for cell in cells})
    if len(examples) > jobcharts.SHOWN or len(columns) > jobcharts.SHOWN:
        st.caption(
            f"Shown: the {jobcharts.SHOWN} worst of {len(examples)} examples, the last {jobcharts.SHOWN} of {len(columns)} candidates."
        )
        examples, columns = examples[: jobcharts.SHOWN], columns[-jobcharts.SHOWN :]
        cells = [cell for cell in cells if cell["example"] in {*examples} and cell["#"] in {*columns}]
    st.caption("Examples, the worst first, by candidates. ✕ failed, ? could not be measured, empty: was not evaluated.")
    parts.chart(jobcharts.matrix_chart(cells, examples), alt="Examples by candidates", key=f"matrix-{split}")
    rows = [{k: cell[k] for k in ("#", "example", "status", "score", "seconds", "feedback")} for cell in cells]
    order = {example: i for i, example in enumerate(examples)}
    rows.sort(key=lambda row: (order[row["example"]], row["#"]))
    row, _ = parts.table(
        [r | {"feedback": r["feedback"][:200]} for r in rows],
        key=f"examples-{split}",
        opens=True,
        alt="Measurements",
        height=320,
    )
    if row is not None:
        st.caption(parts.plain(f"Feedback on {rows[row]['example']}, candidate number {rows[row]['#']}"))
        parts.long_text(rows[row]["feedback"] or "(none)", name="feedback.txt", key="feedback")


draw()
