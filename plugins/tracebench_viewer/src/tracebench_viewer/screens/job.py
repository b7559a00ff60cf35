"""One job: its candidates on the score curve and as a tree, what was measured of each, what the models said, and how it ended."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import partial
from typing import Any

import streamlit as st

from tracebench_core.errors import RunDirError, TraceBenchError
from tracebench_viewer import jobcharts, parts, steering, views
from tracebench_viewer.calltexts import read_texts
from tracebench_viewer.diffs import as_text, side_by_side
from tracebench_viewer.jobview import JobView, lineage, worst_examples
from tracebench_viewer.look import duration, mark, number

CALLS_A_PAGE = 200
MOST_NODES = 400
EVERY = 2


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
        job_id = _chosen(jobs)
    steering.cancel_job(run["name"], job_id)
    running = any(job["job_id"] == job_id and job["status"] == "running" for job in jobs)
    st.fragment(_job, run_every=EVERY if running else None)(run["name"], job_id)


def _chosen(jobs: list[dict[str, Any]]) -> str:
    ids = [job["job_id"] for job in jobs]
    wanted = parts.asked("job")
    if wanted and wanted not in ids:
        parts.trouble(RunDirError(f"This run has no job `{wanted}`."))
    labels = {
        job["job_id"]: f"{job['job_id']}  {job['task']}  {job['trainer']}  seed {job['seed']}  {job['status']}"
        for job in jobs
    }
    position = ids.index(wanted) if wanted in ids else 0
    found = str(
        st.selectbox("Job", ids, index=position, format_func=lambda i: parts.visible(labels[i]), key=f"job-{wanted}")
    )
    if found != wanted:
        st.query_params["job"] = found
        st.query_params.pop("candidate", None)
    return found


def _job(run_name: str, job_id: str) -> None:
    try:
        job = parts.reader().job(run_name, job_id)
    except TraceBenchError as err:
        parts.trouble(err)
        return
    _facts(job)
    if not job.events:
        parts.nothing("The job has not begun: nothing was measured.")
        return
    _error(job, run_name)
    names = ["Candidates", "Examples", "Model calls", "Log and files"]
    draws: list[Callable[[], None]] = [
        partial(_candidates, job),
        partial(_examples, job),
        partial(_calls, job, run_name),
        partial(_files, job),
    ]
    for tab, draw_tab in zip(st.tabs(names, on_change="rerun", key="part"), draws, strict=True):
        if tab.open:
            with tab:
                draw_tab()
    views.draw(parts.reader().run(run_name), job_id)


def _facts(job: JobView) -> None:
    result, spec = job.result, job.spec
    models = ", ".join(sorted({model.model for model in spec.models.values()})) or "no model"
    st.caption(parts.plain(f"{spec.task_id}, {spec.trainer_id}, seed {spec.seed}, {models}"))
    initial = result.score_val_initial if result else None
    best = result.score_val_best if result else job.bests[-1].score if job.bests else None
    gain = best - initial if best is not None and initial is not None else None
    used = result.used if result else None
    parts.facts(
        ("Status", mark(result.status if result else "running" if job.events else "not_run"), ""),
        ("Best on validation", number(best), f"{gain:+.4g}" if gain else ""),
        ("Test", number(result.score_test if result else None), ""),
        ("Evaluations", number(used.evaluations if used else len(job.evaluations)), ""),
        ("Cost", "unknown" if used is None or used.usd is None else f"{used.usd:.4f} USD", ""),
        ("Took", duration(result.time_seconds if result else None), ""),
    )
    if result is None:
        st.caption(
            parts.plain(
                f"Doing now: {job.doing}" if job.doing else "It is under way, or was ended before it could say how."
            )
        )
        return
    told = [f"stopped by: {result.stop_reason or 'nothing'}"]
    if result.not_measured:
        told.append(f"{result.not_measured} evaluations could not be measured")
    if result.overshoot:
        told.append("past its cap: " + ", ".join(f"{v:g} {axis}" for axis, v in result.overshoot.items()))
    p = result.proposals
    if p.asked:
        told.append(f"proposals: {p.asked} asked, {p.usable} usable, {p.duplicate} duplicate, {p.invalid} invalid")
    told += [f"{name}: {why}" for name, why in result.flags.items()]
    st.caption(parts.plain("; ".join(told)))


def _error(job: JobView, run_name: str) -> None:
    error = job.result.error if job.result is not None else None
    if error is None:
        return
    st.error(parts.plain(f"{error.type}: {error.message[:600]}"), icon=":material/error:")
    folder = parts.settings().runs / run_name
    st.code(
        parts.words(f"trace-bench resume {shlex.quote(str(folder))} --failed --error-type {shlex.quote(error.type)}"),
        language=None,
        wrap_lines=True,
    )
    if error.traceback:
        with st.expander("Traceback"):
            parts.long_text(error.traceback, name="traceback.txt", key="traceback")


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
    st.caption(
        "Best so far (steps; it falls where the best is measured on further examples), and every candidate where it was measured last. "
        "Click one to see it."
    )
    points = job.points(axis)
    if not points:
        st.caption("On this axis the use of the candidates is not known.")
    clicked = parts.chart(
        jobcharts.score_chart(job.curve(axis), points, axis=axis),
        alt="Score of every candidate, and the best so far",
        key=f"curve-{axis}",
        picks=True,
    )
    nodes, edges = lineage(job.candidates)
    if len(nodes) > MOST_NODES:
        st.caption(f"The tree of {len(nodes)} candidates is too large to be read: see the table.")
    elif len(nodes) > 1:
        st.caption("Lineage: each candidate one generation to the right of its parents.")
        clicked = (
            parts.chart(
                jobcharts.lineage_chart(nodes, edges), alt="Lineage of the candidates", key="lineage", picks=True
            )
            or clicked
        )
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
                side_by_side(parts.visible(as_text(before[parameter])), parts.visible(text)),
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
    st.caption("✕ failed, ? could not be measured, empty: was not evaluated.")
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


def _calls(job: JobView, run_name: str) -> None:
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


def _files(job: JobView) -> None:
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


draw()
