"""The viewer in a real browser that reaches this machine and nothing else."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

BROWSER = shutil.which("chromium")
MISSING = next((name for name in ("streamlit", "playwright") if find_spec(name) is None), None)
pytestmark = [
    pytest.mark.heavy("browser"),
    pytest.mark.skipif(BROWSER is None, reason="There is no Chromium: apt-get install chromium"),
    pytest.mark.skipif(MISSING is not None, reason=f"`{MISSING}` is not installed: pip install {MISSING}"),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(900),
]
PAGES = {
    "": "Runs", "run": "Run", "job": "Job", "compare": "Compare", "failures": "Failures", "launch": "Launch",
    "installed": "Tasks and trainers",
}  # fmt: skip
PATIENCE = 240_000


@contextmanager
def served(runs_dir: Path, at: Path, *words: str) -> Iterator[str]:
    """Run `trace-bench ui` as people do, and end it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = at / "ui.log"
    with log.open("wb") as sink:
        command = [
            sys.executable,
            "-m",
            "tracebench_core.cli",
            "ui",
            "--runs-dir",
            str(runs_dir),
            "--no-browser",
            "--port",
            str(port),
            *words,
        ]
        process = subprocess.Popen(command, stdout=sink, stderr=sink, cwd=at)
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


class Visitor:
    """A tab of a browser in which every request that leaves this machine is refused and kept."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url.split("?", maxsplit=1)[0]
        self.strayed: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.route("**/*", self._gate)

    def _gate(self, route: Any) -> None:
        if urlsplit(route.request.url).hostname in {"127.0.0.1", "localhost", None}:
            route.continue_()
        else:
            self.strayed.append(route.request.url)
            route.abort()

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)
        self.settle()

    def settle(self) -> None:
        """Wait until the script has run to its end."""
        self.page.wait_for_selector("h1")
        self.page.wait_for_timeout(300)
        self.page.wait_for_selector("[data-test-script-state=notRunning]")
        assert not self.page.query_selector_all("[data-testid=stException]"), self.text()

    def text(self) -> str:
        return str(self.page.inner_text("[data-testid=stMain]"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


@contextmanager
def visiting(browser: Any, url: str) -> Iterator[Visitor]:
    context = browser.new_context(viewport={"width": 1280, "height": 1600})
    visitor = Visitor(context.new_page(), url)
    if "?" in url:
        visitor.page.goto(url)
    yield visitor
    assert visitor.strayed == []
    context.close()


def test_every_page_is_there_and_asks_nothing_of_the_network(browser: Any, runs_dir: Path, tmp_path: Path) -> None:
    with served(runs_dir, tmp_path) as url, visiting(browser, url) as visitor:
        for path, title in PAGES.items():
            visitor.open(path)
            assert visitor.page.inner_text("h1") == title
