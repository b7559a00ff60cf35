"""The buttons that steer a run. Each sends what the command of the same name sends, or starts that command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import streamlit as st

from tracebench_core.errors import TraceBenchError
from tracebench_engine.api.analysis import AXES
from tracebench_engine.api.records import tell
from tracebench_viewer import parts
from tracebench_viewer.commands import begin

TAIL = 64 * 1024
FLAGS = {
    "evaluations": "--max-evaluations",
    "llm_calls": "--max-calls",
    "tokens": "--max-tokens",
    "usd": "--max-usd",
    "seconds": "--max-seconds",
}


def draw(run: dict[str, Any]) -> None:
    """Draw what can be done with a run now; nothing where the viewer is read-only."""
    if parts.settings().read_only:
        return
    live = parts.shelf().live(run["name"])
    if live is not None:
        _under_way(run, paused=live.state == "paused")
    elif run["jobs"]:
        _ended(run)


def _under_way(run: dict[str, Any], *, paused: bool) -> None:
    folder = parts.settings().runs / run["name"]
    _refused(folder)
    boxes = st.columns([1, 3, 1], vertical_alignment="bottom")
    if paused:
        request, words, note = {"do": "unpause"}, ("Go on", ":material/play_arrow:"), "The run goes on."
    else:
        request, words, note = {"do": "pause"}, ("Pause", ":material/pause:"), "The run starts no further job."
    boxes[0].button(
        words[0],
        icon=words[1],
        key="hold",  # one for both: two would stand in the page together for a moment, and move under the pointer
        help=None if paused else "Starts no further job; those that run go on.",
        on_click=_send,
        args=(folder, request, note),
    )
    reason = boxes[1].text_input("Reason", placeholder="why it is cancelled; kept with the run", key="reason")
    boxes[2].button(
        "Cancel",
        icon=":material/stop:",
        key="cancel",
        disabled=not reason.strip(),
        on_click=_send,
        args=(
            folder,
            {"do": "cancel", "reason": reason.strip()},
            "The run is being cancelled; what was found is kept.",
        ),
    )


def cancel_job(run_name: str, job_id: str) -> None:
    """Draw the button that cancels one job under way."""
    live = parts.shelf().live(run_name)
    if parts.settings().read_only or live is None or job_id not in live.running:
        return
    folder = parts.settings().runs / run_name
    _refused(folder)
    boxes = st.columns([4, 1], vertical_alignment="bottom")
    reason = boxes[0].text_input("Reason", placeholder="why the job is cancelled", key="job-reason")
    request = {"do": "cancel", "reason": reason.strip(), "job": job_id}
    boxes[1].button(
        "Cancel this job",
        key="cancel-job",
        disabled=not reason.strip(),
        on_click=_send,
        args=(folder, request, "The job is being cancelled."),
    )


def _send(folder: Path, request: dict[str, Any], told: str) -> None:
    """Send a request at once: a click counts even if the page, drawn anew each second, has no such button by then."""
    refused = f"refused-{folder}"
    st.session_state.pop(refused, None)
    try:
        tell(folder, request)
    except TraceBenchError as err:
        st.session_state[refused] = err
    else:
        parts.shelf().look(now=True)
        st.toast(told)


def _refused(folder: Path) -> None:
    """Draw why a run refused the last request, until there is another."""
    err = st.session_state.get(f"refused-{folder}")
    if err is not None:
        parts.trouble(err)


def _ended(run: dict[str, Any]) -> None:
    counts = run["counts"]
    failed = sum(counts.get(status, 0) for status in ("failed", "timeout", "cancelled"))
    left = counts.get("not_run", 0)
    if not failed and not left:
        return
    with st.expander("Continue this run", icon=":material/replay:"):
        boxes = st.columns([2, 2, 2, 1], vertical_alignment="bottom")
        again = boxes[0].checkbox(f"Run {failed} failed jobs again", value=not left, disabled=not failed, key="again")
        axis = boxes[1].selectbox("Raise the run's cap on", ["leave all", *AXES], key="axis")
        cap = boxes[2].number_input("to", min_value=0.0, value=0.0, disabled=axis == "leave all", key="cap")
        words = ["resume", str(parts.settings().runs / run["name"])]
        words += ["--failed"] if again and failed else []
        words += [FLAGS[axis], f"{cap:g}"] if axis != "leave all" and cap > 0 else []
        st.code(" ".join(["trace-bench", *words]), language=None, wrap_lines=True)
        if boxes[3].button("Continue", icon=":material/play_arrow:", type="primary", key="continue"):
            try:
                begin(*words, log=parts.settings().runs / run["name"] / "run.log")
            except TraceBenchError as err:
                parts.trouble(err)
            else:
                st.toast("Started. What it says stands under History.")


def tail(path: Path) -> str:
    """Return the end of a text file."""
    with path.open("rb") as log:
        size = log.seek(0, 2)
        log.seek(max(0, size - TAIL))
        text = log.read().decode(errors="replace")
    return text if size <= TAIL else f"… {size - TAIL:,} bytes before this\n{text.partition(chr(10))[2]}"
