"""The pieces that pages are made of. Whatever a model, a task or a file said reaches the browser as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from tracebench_core.errors import RunDirError, TraceBenchError
from tracebench_engine.api.analysis import Shown
from tracebench_viewer.diffs import Side
from tracebench_viewer.look import NOTHING
from tracebench_viewer.reading import Reader
from tracebench_viewer.settings import ViewerSettings, read_settings
from tracebench_viewer.shelf import Shelf
from tracebench_viewer.shown import beginning, visible, words

PAGES = {name: f"screens/{name}.py" for name in ("runs", "run", "job", "compare", "failures", "installed", "launch")}
TALLEST, MOST_ROWS = 620, 16
"""Pixels of a long list, and the rows that they hold."""
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_LINK = re.compile(r"\b(?:https?|ftp|mailto|xmpp):|\bwww(?=\.)|\w(?=@)", re.IGNORECASE)

ASSETS = Path(__file__).parent / "assets"
"""What the pages here and those that are published share."""
_DRAW_DIFF = """
export default ({parentElement, data}) => drawDiff(parentElement.querySelector('.diff'), data.rows);
"""


@cache
def _shelf(runs_dir: str) -> Shelf:
    return Shelf(Path(runs_dir))


@cache
def _reader(runs_dir: str) -> Reader:
    return Reader(Path(runs_dir))


def settings() -> ViewerSettings:
    """Return how this viewer was started."""
    return read_settings()


def shelf() -> Shelf:
    """Return the shelf of the viewer's folder."""
    return _shelf(settings().runs_dir)


def reader() -> Reader:
    """Return the reader of the viewer's folder."""
    return _reader(settings().runs_dir)


def plain(text: object) -> str:
    """Return text for a place that takes Markdown, so that it is shown as it is.

    What would become a link, escaped or not, is broken by a character that has no width.
    """
    return _PUNCTUATION.sub(r"\\\1", _LINK.sub("\\g<0>\N{WORD JOINER}", words(str(text)))).replace("\n", " ")


def heading(title: str, note: str = "") -> None:
    """Open a page."""
    st.title(title, anchor=False)
    if note:
        st.caption(note)


def facts(*told: tuple[str, str, str]) -> None:
    """Show some numbers in a row that breaks where it must: label, value and, after it, a small remark."""
    with st.container(horizontal=True, gap="medium"):
        for label, value, remark in told:
            st.metric(label, value, delta=remark or None, width="content")


def trouble(err: TraceBenchError) -> None:
    """Show an error in words, with the command to type."""
    st.error(plain(err), icon=":material/error:")
    if err.hint:
        st.code(visible(err.hint), language=None, wrap_lines=True)


def nothing(told: str, command: str = "") -> None:
    """Say that there is nothing here, and what to do."""
    st.info(told, icon=":material/info:")
    if command:
        st.code(command, language=None)


def long_text(text: str, *, name: str, key: str, height: int | None = None) -> None:
    """Show text as text; a long one is cut, and whole as a download."""
    shown = beginning(text)
    st.code(shown or " ", language=None, wrap_lines=True, height=height or "content")
    if len(shown) < len(text):
        st.caption(f"The first {len(shown):,} of {len(text):,} characters.")
        st.download_button("Download all of it", text.encode("utf-8", "backslashreplace"), file_name=name, key=key)


def table(
    rows: Sequence[Mapping[str, Any]],
    *,
    key: str | None = None,
    columns: Mapping[str, Any] | None = None,
    alt: str,
    opens: bool = False,
    picks: bool = False,
    height: int | str = "auto",
) -> tuple[int | None, list[int]]:
    """Show rows. Return which row was clicked (with `opens`), and which are picked by their boxes (with `picks`)."""
    names = list(rows[0]) if rows else []
    data = {name: [_cell(row[name]) for row in rows] for name in names}
    modes = [*(["multi-row"] if picks else []), *(["single-cell"] if opens else [])]
    more: dict[str, Any] = {"on_select": "rerun", "selection_mode": modes} if modes else {}
    told = st.dataframe(
        data,
        hide_index=True,
        column_config=dict(columns or {}),
        key=key,
        alt=alt,
        height=height,
        width="stretch",
        placeholder=NOTHING,
        **more,
    )
    if not modes:
        return None, []
    cells = told["selection"].get("cells", [])
    return (cells[0][0] if cells else None), list(told["selection"].get("rows", []))


def tall(rows: int) -> int | str:
    """Return the height of a list: as tall as its rows, up to some."""
    return TALLEST if rows > MOST_ROWS else "content"


def side_by_side(rows: Sequence[Side], *, key: str) -> None:
    """Show two texts side by side."""
    drawn = (ASSETS / "diff.js").read_text() + _DRAW_DIFF
    st.components.v2.component(
        "trace_bench_diff",
        html='<div class="diff" role="group" tabindex="0" aria-label="What changed, before and after side by side"></div>',
        css=(ASSETS / "diff.css").read_text(),
        js=drawn,
    )(data={"rows": [list(row) for row in rows]}, key=key)


def chart(drawn: Any, *, alt: str, key: str | None = None, picks: bool = False) -> Any:
    """Show a chart in Vega-Lite; return the candidate that was clicked, if clicks are wanted."""
    drawn = _made_visible(drawn)
    if not picks:
        st.vega_lite_chart(drawn, width="stretch", alt=alt, key=key)
        return None
    from tracebench_viewer.jobcharts import PICKED  # noqa: PLC0415

    told = st.vega_lite_chart(drawn, width="stretch", alt=alt, key=key, on_select="rerun", selection_mode=PICKED)
    found = told["selection"].get(PICKED) or []
    return found[0].get("candidate") if found else None


def view(shown: Shown, *, key: str) -> None:
    """Draw what a plugin adds."""
    st.subheader(plain(shown.title), anchor=False)
    if shown.problem:
        st.warning(plain(shown.problem), icon=":material/extension_off:")
        return
    try:
        _draw(shown, key)
    except Exception as err:  # noqa: BLE001 - as its loader
        st.warning(plain(f"{shown.title}: {type(err).__name__}: {err}"), icon=":material/extension_off:")


def _draw(shown: Shown, key: str) -> None:
    content = shown.content
    if shown.kind == "columns":
        st.dataframe(content, hide_index=True, key=key, alt=shown.title)
    elif shown.kind == "chart":
        chart(content, alt=shown.title, key=key)
    elif shown.kind == "picture":
        st.image(content, alt=shown.title, width=640)
    elif shown.kind == "frames":
        pictures = dict(content)
        names = [*pictures]
        led = st.select_slider("candidate that led", names, names[-1], key=key) if len(names) > 1 else names[0]
        st.image(pictures[led], alt=f"{shown.title}: {led}", width=640)
    else:
        content()


def asked(name: str) -> str:
    """Return what the address names."""
    return str(st.query_params.get(name, ""))


def go(page: str, **names: str) -> None:
    """Open a page; its address names what it shows."""
    st.switch_page(PAGES[page], query_params=names)


def chosen_run(*, what: str) -> dict[str, Any] | None:
    """Return the run that the address names, or that is chosen from the list; say what to do when there is none."""
    shelf().look()
    runs = shelf().runs()
    if not runs:
        nothing(
            "There is no run in this folder yet.",
            "trace-bench init config mine.yaml && trace-bench run --config mine.yaml",
        )
        return None
    names = [run["name"] for run in runs]
    wanted = asked("run")
    if wanted and wanted not in names:
        no_such_run(wanted, runs)
        return None
    position = names.index(wanted) if wanted in names else 0
    name = st.selectbox(what, names, index=position, key=f"run-of-{what}-{wanted}")
    if name != wanted:
        st.query_params["run"] = name
        for stale in ("job", "candidate"):
            st.query_params.pop(stale, None)
    return runs[names.index(name)]


def no_such_run(wanted: str, runs: Sequence[Mapping[str, Any]], *, page: str = "run") -> None:
    """Say that the address names a run that is not here, and list those that are: never show another one in its place."""
    hint = "trace-bench ui --runs-dir DIR"
    trouble(RunDirError(f"There is no run `{wanted}` in `{settings().runs_dir}`.", hint=hint))
    st.caption("Runs that are here:")
    rows = [
        {"run": run["name"], "started": (run["created_at"] or "")[:16].replace("T", " "), "jobs": run["jobs"]}
        for run in runs
    ]
    opened, _ = table(rows, key="runs-that-are-here", opens=True, alt="Runs that are here", height=tall(len(rows)))
    if opened is not None:
        name = runs[opened]["name"]
        go(page, **{"runs" if page == "compare" else "run": name})


def no_such_job(run_name: str, wanted: str, jobs: Sequence[Mapping[str, Any]]) -> None:
    """Say that the address names a job that its run does not have, and list those that it has."""
    trouble(RunDirError(f"Run `{run_name}` has no job `{wanted}`."))
    st.caption("Its jobs:")
    rows = [{name: job[name] for name in ("job_id", "task", "trainer", "seed", "status")} for job in jobs]
    opened, _ = table(rows, key="jobs-that-are-here", opens=True, alt="Jobs of the run", height=tall(len(rows)))
    if opened is not None:
        go("job", run=run_name, job=jobs[opened]["job_id"])


def tabs(titles: Sequence[str], names: Sequence[str], *, key: str) -> Sequence[Any]:
    """Draw tabs, of which only the open one is drawn; the address names it. A name that no tab has is told."""
    wanted = asked("tab")
    if wanted and wanted not in names:
        st.warning(plain(f"There is no tab `{wanted}` here; there are {', '.join(names)}."), icon=":material/tab:")
    first = st.session_state.setdefault(f"{key}-first", wanted if wanted in names else names[0])
    default = titles[
        names.index(first)
    ]  # the same for as long as the page stands: with another one the tabs would begin anew
    drawn: Sequence[Any] = st.tabs([*titles], default=default, on_change="rerun", key=key)
    opened = next((name for name, tab in zip(names, drawn, strict=True) if tab.open), names[0])
    if opened != (wanted or names[0]):
        st.query_params["tab"] = opened
    return drawn


def _made_visible(value: Any) -> Any:
    """Return data with every text in it made visible."""
    if isinstance(value, str):
        return words(value)
    if isinstance(value, Mapping):
        return {name: _made_visible(inner) for name, inner in value.items()}
    return [_made_visible(inner) for inner in value] if isinstance(value, list | tuple) else value


def _cell(value: Any) -> Any:
    return words(value) if isinstance(value, str) else value
