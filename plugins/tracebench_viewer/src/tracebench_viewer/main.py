"""The script that Streamlit runs for every session: the pages, and what a page may not bring down."""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from tracebench_core.errors import TraceBenchError
from tracebench_viewer import parts
from tracebench_viewer.look import STYLE

ICON = Path(__file__).with_name("icon.svg")
st.set_page_config(page_title="Trace-Bench", page_icon=str(ICON), layout="wide", initial_sidebar_state=220)
_PAGES = [
    st.Page("screens/runs.py", title="Runs", icon=":material/list:", default=True),
    st.Page("screens/run.py", title="Run", icon=":material/play_circle:"),
    st.Page("screens/job.py", title="Job", icon=":material/account_tree:"),
    st.Page("screens/compare.py", title="Compare", icon=":material/leaderboard:"),
    st.Page("screens/failures.py", title="Failures", icon=":material/error:"),
    st.Page("screens/launch.py", title="Launch", icon=":material/rocket_launch:"),
    st.Page("screens/installed.py", title="Tasks and trainers", icon=":material/inventory_2:"),
]
page = st.navigation(_PAGES)
st.html(STYLE)
with st.sidebar:
    st.caption(parts.plain(parts.settings().runs_dir))
    if parts.settings().read_only:
        st.caption(":material/lock: read-only")
try:
    page.run()
except TraceBenchError as err:
    parts.trouble(err)
