"""One run: how far it is, its jobs, what it was asked to be, and the ways to steer it."""

from __future__ import annotations

from typing import Any

import streamlit as st

from tracebench_core.errors import RunDirError, TraceBenchError, quoted
from tracebench_viewer import jobfacts, parts, steering, views
from tracebench_viewer.look import NOTHING, duration, mark, number

EACH_SECOND, EACH_FEW = 1, 5
"""Seconds between two looks at a run that is under way, and at one that is not: it may be continued."""
SHOWN = 20
"""Jobs under way that are shown."""


def draw() -> None:
    """Draw the page."""
    parts.heading("Run")
    run = parts.chosen_run(what="Run")
    if run is None:
        return
    if run["problem"]:
        parts.trouble(
            RunDirError(run["problem"], hint=f"trace-bench fsck {quoted(parts.settings().runs / run['name'])}")
        )
        return
    try:
        opened = parts.reader().run(run["name"])
    except TraceBenchError as err:
        parts.trouble(err)
        return
    is_live = parts.shelf().live(run["name"]) is not None
    if not is_live:
        _verdict(run)
    st.fragment(_progress, run_every=EACH_SECOND if is_live else None)(run["name"], was_live=is_live)
    if not is_live:
        st.fragment(_awaken, run_every=EACH_FEW)(run["name"])
    draws = {"Jobs": _jobs, "Config": _config, "History": _history}
    for tab, draw_tab in zip(
        parts.tabs([*draws], ("jobs", "config", "history"), key="tab"), draws.values(), strict=True
    ):
        if tab.open:
            with tab:
                draw_tab(run)
    views.draw(opened, None)


def _verdict(run: dict[str, Any]) -> None:
    """Draw what the run's comparison says: with its jobs that failed, where some did, and with more on its own page."""
    st.fragment(_sentence, run_every=None if run["name"] in parts.shelf().verdicts.of([run]) else EACH_SECOND)(run)


def _sentence(run: dict[str, Any]) -> None:
    told = parts.shelf().verdicts.of([run]).get(run["name"])
    if told is not None:
        st.info(parts.plain(told), icon=":material/gavel:")


def _awaken(name: str) -> None:
    """Draw the page anew once its run is continued; nothing of its own, for what is drawn again is faded meanwhile."""
    parts.shelf().look()
    if parts.shelf().live(name) is not None:
        st.rerun()


def _progress(name: str, *, was_live: bool) -> None:
    shelf = parts.shelf()
    shelf.look()
    run = shelf.run(name)
    if run is None:
        parts.nothing("This run is gone.")
        return
    if was_live and shelf.live(name) is None:
        st.rerun()
    counts = run["counts"]
    parts.facts(
        ("State", mark(run["state"]), ""),
        ("Jobs done", f"{run['done']} of {run['jobs']}", ""),
        ("Failed", str(sum(counts.get(s, 0) for s in ("failed", "timeout"))), ""),
        ("Tokens", number(run["tokens"]), ""),
        ("Cost", "unknown" if run["usd"] is None else f"{run['usd']:.4f} USD", ""),
        ("Protection", parts.plain(run["protection"] or NOTHING), ""),
    )
    if run["jobs"]:
        st.progress(min(1.0, run["done"] / run["jobs"]))
    steering.draw(run)  # above what comes and goes with each job, so that no button moves away from who would press it
    if run["running"]:
        _under_way(run)
        idle = "" if run["idle"] is None else f"; nothing was written for {duration(run['idle'])}"
        st.caption(f"{len(run['running'])} {'job is' if len(run['running']) == 1 else 'jobs are'} under way{idle}.")
    if (alive := shelf.live(name)) is not None and alive.workers:
        parts.table(
            [jobfacts.worker_row(worker) for worker in alive.workers], key="workers", alt="Workers", height="content"
        )
    if run["state"] == "stopped":
        left = counts.get("not_run", 0)
        st.warning(
            f"The run ended before it was complete: {left} jobs were not run. Results so far are kept.",
            icon=":material/pause_circle:",
        )
    if run["budget"]:
        st.caption("Caps of a job: " + ", ".join(f"{value:g} {axis}" for axis, value in run["budget"].items()))


def _under_way(run: dict[str, Any]) -> None:
    """Draw how far each job under way is now."""
    opened = parts.reader().run(run["name"])
    jobs = [opened.job(job_id) for job_id in run["running"][:SHOWN]]
    paces = parts.shelf().followed.paces(opened.layout, jobs)
    chosen, _ = parts.table(
        [jobfacts.pace_row(pace) for pace in paces],
        key="under-way",
        opens=True,
        alt="Jobs under way",
        columns={
            "job": st.column_config.TextColumn(pinned=True),
            "best": st.column_config.NumberColumn(format="%.5g"),
            "budget": st.column_config.ProgressColumn(format="percent", min_value=0.0, max_value=1.0),
            "USD": st.column_config.NumberColumn(format="$%.4f", help="Empty where a price is not known."),
        },
        height="content",
    )
    if chosen is not None:
        parts.go("job", run=run["name"], job=jobs[chosen].job_id)


def _jobs(run: dict[str, Any]) -> None:
    jobs = parts.shelf().jobs(run["name"])
    if not jobs:
        parts.nothing("The run plans no job.")
        return
    statuses = sorted({job["status"] for job in jobs})
    boxes = st.columns([2, 2, 2])
    status = boxes[0].multiselect("Status", statuses, placeholder="all")
    task = boxes[1].multiselect("Task", run["tasks"], placeholder="all")
    trainer = boxes[2].multiselect("Trainer", run["trainers"], placeholder="all")
    shown = [
        job for job in jobs
        if (not status or job["status"] in status) and (not task or job["task"] in task) and (not trainer or job["trainer"] in trainer)
    ]  # fmt: skip
    if not shown:
        parts.nothing("No job is what the filters ask for.")
        return
    opened, _ = parts.table(
        [_row(job) for job in shown],
        key="jobs",
        columns=_columns(),
        opens=True,
        alt="Jobs of the run",
        height=parts.tall(len(shown)),
    )
    if opened is not None:
        parts.go("job", run=run["name"], job=shown[opened]["job_id"])
    st.caption("Click a job to open it. Score: on validation, or on train where a task has no validation examples.")


def _row(job: dict[str, Any]) -> dict[str, Any]:
    prompt, completion = job["prompt_tokens"], job["completion_tokens"]
    gain = None if job["best"] is None or job["initial"] is None else job["best"] - job["initial"]
    return {
        "job": job["job_id"], "status": mark(job["status"]), "task": job["task"], "trainer": job["trainer"], "seed": job["seed"],
        "initial": job["initial"], "best": job["best"], "gain": gain, "test": job["test"], "evaluations": job["evaluations"],
        "calls": job["llm_calls"], "tokens": None if prompt is None or completion is None else prompt + completion,
        "USD": job["usd"], "seconds": job["seconds"], "ended": job["stop_reason"] or "", "said": job["feedback"] or "",
    }  # fmt: skip


def _columns() -> dict[str, Any]:
    score = st.column_config.NumberColumn(format="%.5g")
    whole = st.column_config.NumberColumn(format="localized")
    return {
        "job": st.column_config.TextColumn(pinned=True), "initial": score, "best": score, "gain": score, "test": score,
        "evaluations": whole, "tokens": whole, "USD": st.column_config.NumberColumn(format="$%.4f"),
        "seconds": st.column_config.NumberColumn(format="%.1f"),
    }  # fmt: skip


def _config(run: dict[str, Any]) -> None:
    path = parts.settings().runs / run["name"] / "meta" / "config.snapshot.yaml"
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as err:
        st.warning(parts.plain(f"The config cannot be read: {err.strerror}."))
        return
    parts.long_text(text, name="config.yaml", key="config", height=520)


def _history(run: dict[str, Any]) -> None:
    folder = parts.settings().runs / run["name"]
    for title, name in (("What was asked of it", "control.jsonl"), ("What its runner said", "run.log")):
        path = folder / name
        if path.is_file():
            st.caption(title)
            parts.long_text(steering.tail(path), name=name, key=name, height=280)
    if not (folder / "control.jsonl").is_file():
        st.caption("Nobody paused, cancelled or continued this run.")


draw()
