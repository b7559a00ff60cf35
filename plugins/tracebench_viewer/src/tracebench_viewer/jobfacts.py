"""The head of a job's page: how it ended, or how far it is by now; where it failed, the error first."""

from __future__ import annotations

import shlex

import streamlit as st

from tracebench_core.specs import JobSpec, WorkerState
from tracebench_engine.api.records import RunLayout
from tracebench_viewer import parts
from tracebench_viewer.following import Pace
from tracebench_viewer.jobview import JobView
from tracebench_viewer.look import duration, mark, number
from tracebench_viewer.shown import words


def draw_error(job: JobView, run_name: str) -> None:
    """Draw why a job failed, and the command that runs it again; nothing for one that did not."""
    error = job.result.error if job.result is not None else None
    if error is None:
        return
    st.error(parts.plain(f"{error.type}: {error.message[:600]}"), icon=":material/error:")
    folder = parts.settings().runs / run_name
    st.code(
        words(f"trace-bench resume {shlex.quote(str(folder))} --failed --error-type {shlex.quote(error.type)}"),
        language=None,
        wrap_lines=True,
    )
    if error.traceback:
        with st.expander("Traceback"):
            parts.long_text(error.traceback, name="traceback.txt", key="traceback")


def draw_pace(run_name: str, job: JobSpec) -> None:
    """Draw how far a job under way is now: what it used, its best, and how much of its budget is left."""
    (pace,) = parts.shelf().followed.paces(RunLayout(parts.settings().runs / run_name), [job])
    parts.facts(
        ("Status", mark("running"), ""),
        ("Best so far", number(pace.best), ""),
        ("Evaluations", number(_whole(pace.evaluations)), ""),
        ("Tokens", number(_whole(pace.tokens)), ""),
        ("Cost", cost(pace.usd), ""),
        ("Since", duration(pace.seconds), ""),
        ("Left, at this pace", duration(pace.left), ""),
    )
    if pace.share is not None:
        st.progress(pace.share, text=f"{pace.share:.0%} of its budget")
    st.caption(parts.plain(f"Doing now: {pace.doing}") if pace.doing else "It has not said what it does.")


def pace_row(pace: Pace) -> dict[str, object]:
    """Return a job under way as a row of a table."""
    job = pace.job
    return {
        "job": job.job_id, "best": pace.best, "evaluations": _whole(pace.evaluations), "budget": pace.share, "USD": pace.usd,
        "tokens": _whole(pace.tokens), "left": duration(pace.left), "since": duration(pace.seconds), "task": job.task_id,
        "trainer": job.called, "seed": job.seed, "doing": pace.doing,
    }  # fmt: skip


def worker_row(worker: WorkerState) -> dict[str, object]:
    """Return a worker of a run under way as a row of a table."""
    return {
        "worker": worker.name, "on": worker.host, "running": f"{len(worker.jobs)} of {worker.slots}", "jobs": ", ".join(worker.jobs),
        "heard": f"{duration(worker.silent)} ago", "reached": "yes" if worker.is_reached else "no",
    }  # fmt: skip


def cost(usd: float | None) -> str:
    """Return an amount of money in words; `unknown` where a price is."""
    return "unknown" if usd is None else f"{usd:.4f} USD"


def _whole(amount: float | None) -> int | None:
    return None if amount is None else round(amount)


def draw_facts(job: JobView) -> None:
    """Draw how a job ended."""
    result = job.result
    if result is None:
        st.caption("It was ended before it could say how." if job.events else "It has not begun: nothing was measured.")
        return
    initial, best = result.score_val_initial, result.score_val_best
    gain = best - initial if best is not None and initial is not None else None
    parts.facts(
        ("Status", mark(result.status), ""),
        ("Best on validation", number(best), f"{gain:+.4g}" if gain else ""),
        ("Test", number(result.score_test), ""),
        ("Evaluations", number(result.used.evaluations), ""),
        ("Tokens", number(result.used.tokens), ""),
        ("Cost", cost(result.used.usd), ""),
        ("Took", duration(result.time_seconds), ""),
    )
    told = [f"ended: {result.stop_reason or 'nothing'}"]
    if result.not_measured:
        told.append(f"{result.not_measured} evaluations could not be measured")
    if result.overshoot:
        told.append("past its cap: " + ", ".join(f"{v:g} {axis}" for axis, v in result.overshoot.items()))
    p = result.proposals
    if p.asked:
        told.append(f"proposals: {p.asked} asked, {p.usable} usable, {p.duplicate} duplicate, {p.invalid} invalid")
    told += [f"{name}: {why}" for name, why in result.flags.items()]
    st.caption(parts.plain("; ".join(told)))
