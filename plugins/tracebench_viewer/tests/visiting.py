"""Starting the viewer as people do, and looking at it with a browser that reaches this machine and nothing else."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

BROWSER = shutil.which("chromium")
MISSING = next((name for name in ("streamlit", "playwright", "axe_playwright_python") if find_spec(name) is None), None)
IN_A_BROWSER = [
    pytest.mark.heavy("browser"),
    pytest.mark.skipif(BROWSER is None, reason="There is no Chromium: apt-get install chromium"),
    pytest.mark.skipif(MISSING is not None, reason=f"`{MISSING}` is not installed"),
    pytest.mark.filterwarnings("ignore"),
]
"""Marks of the tests that need one."""
PATIENCE = 90_000
"""Milliseconds that anything may take on a machine that is busy with other things."""
FLAGS = [
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
]
"""Of Chromium: no name and no address is found but this machine's."""
ROW = 35
"""Pixels of a table's row, its head included."""


@contextmanager
def served(runs_dir: Path, at: Path, *words: str, pid: list[int] | None = None) -> Iterator[str]:
    """Run `trace-bench ui` in the folder `at` and yield the address that it prints; `pid` is told its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    log = at / "ui.log"
    command = [
        sys.executable,
        "-m",
        "tracebench_engine.cli",
        "ui",
        "--runs-dir",
        str(runs_dir),
        "--no-browser",
        "--port",
        port,
    ]
    with log.open("wb") as sink:
        process = subprocess.Popen([*command, *words], stdout=sink, stderr=sink, cwd=at)
    if pid is not None:
        pid.append(process.pid)
    try:
        for _ in range(600):
            if process.poll() is not None or "Viewer:" in log.read_text():
                break
            time.sleep(0.2)
        found = re.search(r"Viewer: (\S+)", log.read_text())
        assert found, log.read_text()
        yield found[1]
    finally:
        process.terminate()
        process.wait(30)


@contextmanager
def browsing() -> Iterator[Any]:
    """Open Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield found
        found.close()


@contextmanager
def at_home(folder: Path) -> Iterator[Any]:
    """Open Chromium as people have it, with a cache in a folder of its own, and yield what tabs open in."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch_persistent_context(
            str(folder), executable_path=BROWSER, args=FLAGS, viewport={"width": 1280, "height": 1000}
        )
        yield found
        found.close()


class Visitor:
    """A tab in which every request that would leave this machine is told, as every dialogue is, and every error in the console."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url.split("?", maxsplit=1)[0]
        self.strayed: list[str] = []
        self.dialogues: list[str] = []
        self.errors: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("request", self._asked)  # a route would switch the browser's cache off
        page.on("dialog", self._dialogue)
        page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _asked(self, request: Any) -> None:
        if urlsplit(request.url).hostname not in {"127.0.0.1", "localhost", None}:
            self.strayed.append(request.url)

    def _dialogue(self, dialogue: Any) -> None:
        self.dialogues.append(dialogue.message)
        dialogue.dismiss()

    def open(self, path: str) -> None:
        """Go to an address of the viewer."""
        self.page.goto(self.url + path)
        self.settle()

    def settle(self) -> None:
        """Wait until the page's script has run to its end, and whatever it drew is there."""
        self.page.wait_for_selector("h1")
        self.page.wait_for_timeout(300)
        self.page.wait_for_selector("[data-test-script-state=notRunning]")
        self.page.wait_for_function("!document.querySelector('[data-testid=stSkeleton]')")
        assert not self.page.query_selector_all("[data-testid=stException]"), self.text()

    def text(self) -> str:
        """Return the words of the page, without those of tables, which are drawn."""
        return str(self.page.inner_text("[data-testid=stMain]"))

    def until(self, words: str) -> None:
        """Wait until the page says something."""
        self.page.wait_for_function(
            "words => document.querySelector('[data-testid=stMain]')?.innerText.includes(words)", arg=words
        )

    def click_row(self, row: int, *, table: int = 0, at: int = 120) -> None:
        """Click a cell of a table's row, counted from 0, `at` pixels from its left edge."""
        self.page.wait_for_selector(f"[data-testid=stDataFrame] >> nth={table} >> canvas >> nth=0")
        self.page.wait_for_timeout(500)  # it takes clicks once it has measured itself, and says so nowhere
        frame = self.page.locator("[data-testid=stDataFrame]").nth(table)
        frame.scroll_into_view_if_needed()
        box = frame.locator("canvas").first.bounding_box()
        self.page.mouse.click(box["x"] + at, box["y"] + ROW * (row + 1) + ROW / 2)

    def click_mark(self, number: int, *, chart: int = 0) -> None:
        """Click a point of a chart, counted from 0 in the order of its data."""
        mark = (
            self.page.locator("[data-testid=stVegaLiteChart]")
            .nth(chart)
            .locator("g.mark-symbol.role-mark path")
            .nth(number)
        )
        mark.scroll_into_view_if_needed()
        mark.click(force=True)

    def chart_words(self, chart: int = 0) -> str:
        """Return the text that stands in a chart."""
        return str(self.page.locator("[data-testid=stVegaLiteChart]").nth(chart).locator("svg.marks").inner_text())


@contextmanager
def visiting(
    browser: Any, url: str, *, width: int = 1280, height: int = 1600, scheme: str = "light"
) -> Iterator[Visitor]:
    """Open a tab of its own; at its end nothing may have asked for anything beyond this machine, or opened a dialogue."""
    context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme)
    visitor = Visitor(context.new_page(), url)
    if "?" in url:
        visitor.page.goto(url)
    yield visitor
    assert visitor.strayed == []
    assert visitor.dialogues == []
    context.close()


@contextmanager
def reading(browser: Any, *, width: int = 1280, scheme: str = "light", home: str = "file:") -> Iterator[Any]:
    """Open a tab on files; at its end nothing may have been asked of anything but `home`, and the console tells of no error."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    strayed: list[str] = []
    said: list[str] = []
    page.on(
        "request",
        lambda request: strayed.append(request.url) if not request.url.startswith((home, "data:", "blob:")) else None,
    )
    page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    assert not strayed, strayed
    assert not said, said
    context.close()


@contextmanager
def hosted(folder: Path) -> Iterator[str]:
    """Serve a folder and yield its address."""
    handler = partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Say nothing of requests."""


GRAVE = {"serious", "critical"}


def axe(page: Any, *, contrast: bool = True) -> list[str]:
    """Return what axe-core finds on a page that is serious or critical: its rule, and the first element that breaks it.

    `contrast`: of every word and what lies behind it, which takes most of the time.
    """
    import axe_playwright_python

    script = next(Path(axe_playwright_python.__file__).parent.rglob("axe.min.js"))
    page.evaluate(script.read_text())
    rules = {} if contrast else {"color-contrast": {"enabled": False}}
    asked = {"resultTypes": ["violations"], "preload": False, "rules": rules}
    found = page.evaluate("asked => axe.run(document, asked)", asked)["violations"]
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in found if rule["impact"] in GRAVE]


def command(*words: str, env: Mapping[str, str] | None = None) -> str:
    """Return what a `trace-bench` command prints."""
    done = subprocess.run(
        [sys.executable, "-m", "tracebench_engine.cli", *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=170,
        env={**os.environ, **(env or {})},
    )
    return done.stdout
