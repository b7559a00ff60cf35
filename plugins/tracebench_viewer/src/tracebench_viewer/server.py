"""The server: Streamlit in this process, on one address, behind the gatekeeper."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware

from tracebench_viewer.front import Front
from tracebench_viewer.gatekeeper import PARAMETER, Gatekeeper
from tracebench_viewer.look import THEME
from tracebench_viewer.settings import ViewerSettings, hand_over

SCRIPT = Path(__file__).with_name("main.py")
OPTIONS: dict[str, Any] = {
    "server.headless": True,
    "runner.magicEnabled": False,
    "server.fileWatcherType": "none",
    "server.showEmailPrompt": False,
    "logger.hideWelcomeMessage": True,  # it names the address without the token, which opens nothing
    "browser.gatherUsageStats": False,
    "client.toolbarMode": "minimal",
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "server.maxUploadSize": 1,
}


def serve(
    settings: ViewerSettings,
    *,
    host: str,
    port: int,
    token: str,
    opens_browser: bool,
    say: Callable[[str], None],
) -> None:
    """Serve until the process is told to end. `say` is told the address once it answers."""
    hand_over(settings)
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{port}/?{PARAMETER}={token}"
    stdout = sys.stdout

    @asynccontextmanager
    async def ready(_app: Any) -> AsyncIterator[None]:
        with redirect_stdout(stdout):
            say(f"Viewer: {url}")
            say(f"Runs: {settings.runs_dir}" + (" (read-only)" if settings.read_only else ""))
            stdout.flush()
        if opens_browser:
            threading.Timer(0.5, webbrowser.open, [url]).start()
        yield

    gate = Middleware(Gatekeeper, host=host, token=token)
    sys.argv = [str(SCRIPT)]
    with redirect_stdout(sys.stderr):  # Streamlit greets; what is on stdout is ours
        st.App(SCRIPT, middleware=[gate, Middleware(Front)], lifespan=ready).run(
            config={**OPTIONS, **THEME, "server.address": host, "server.port": port}
        )
