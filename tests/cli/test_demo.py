"""The command that shows a recorded run: on a terminal, without one, interrupted, and where it may write nothing."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from html.parser import HTMLParser
from pathlib import Path

from tests.cli.conftest import COMMAND, Cli

from tracebench_engine.api.rundirs.demos import demo_named, unpacked

CORE_ONLY = {"TRACEBENCH_PLUGINS": ""}
ASKING = {"src", "href", "action", "srcset", "data", "poster", "background"}
VOID = frozenset(["br", "img", "input", "link", "meta", "hr", "line", "circle", "polyline", "polygon", "rect", "path"])


class Page(HTMLParser):
    """What a page holds: its tags in balance, the addresses that it would ask for, and its words outside of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.asked: list[str] = []
        self.ids: dict[str, dict[str, str]] = {}
        self.words: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.asked += [value for name, value in known.items() if name in ASKING and not value.startswith("data:image/")]
        self.handlers += [name for name in known if name.startswith("on")]
        if "id" in known:
            self.ids[known["id"]] = known
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.words.append(data)


def in_terminal(
    folder: Path, *words: str, rows: int = 24, columns: int = 80, interrupt: bool = False
) -> tuple[int, str]:
    """Run the command at a terminal of its own; return its code and all that it wrote."""
    environ = {k: v for k, v in os.environ.items() if k not in {"COLUMNS", "LINES", "DISPLAY", "WAYLAND_DISPLAY"}}
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execve(COMMAND, [str(COMMAND), *words], {**environ, **CORE_ONLY, "TERM": "xterm", "NO_COLOR": "1"})
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    written, deadline = b"", time.monotonic() + 100
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.2)[0]:
            try:
                written += os.read(terminal, 65536)
            except OSError:  # it has left
                break
        if interrupt and re.search(rb"running +seed", written):
            os.write(terminal, b"\x03")
            interrupt = False
    else:
        os.kill(pid, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), written.decode()


def page_in(text: str) -> Page:
    (path,) = re.findall(r"^Page: (.*?)\r?$", text, re.MULTILINE)
    return Page(Path(path).read_text())


def test_it_ends_with_the_verdict_and_a_page_that_asks_for_nothing(cli: Cli, tmp_path: Path) -> None:
    done = cli("demo", env=CORE_ONLY)

    assert done.returncode == 0, done.stderr
    assert "no language model" in done.stderr
    assert "The same results as recorded" in done.stderr
    assert re.search(r"^Not resolved: |is better than", done.stderr, re.MULTILINE)
    assert done.stderr.count("Look:") == 1
    page = page_in(done.stdout)
    assert (page.open, page.asked, page.handlers) == ([], [], [])
    assert int(page.ids["at"]["max"]) >= 1
    words = " ".join(page.words)
    for told in (
        "no language model",
        "Curves",
        "How the best came about",
        "beside its parent",
        "Cost of all jobs",
        "trace-bench compare",
    ):
        assert told in words


def test_at_a_terminal_of_80_columns_every_line_fits_and_curves_are_drawn(tmp_path: Path) -> None:
    code, written = in_terminal(tmp_path, "demo")

    assert code == 0, written[-2000:]
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", written)
    lines = [line for line in re.split(r"[\r\n]+", plain) if not line.startswith(("Page:", "  trace-bench"))]
    assert max(map(len, lines)) <= 80
    assert "best so far over the budget" in plain
    assert re.search(r"(BestOfN|SequentialRefine) +[▁▂▃▄▅▆▇█]{3,}", plain)
    assert re.search(r"[█░]{10}  \d+ of 40 evaluations", plain)
    assert "(opened in your browser)" not in plain  # there is no display


def test_an_interrupt_says_how_to_go_on_and_leaves_the_recording_whole(tmp_path: Path) -> None:
    code, written = in_terminal(tmp_path, "demo", interrupt=True)

    assert (code, "Traceback" in written) == (130, False), written[-2000:]
    assert "trace-bench resume" in written
    assert demo_named("stub") is not None
    assert unpacked(demo_named("stub"), tmp_path / "runs") == tmp_path / "runs" / "demo"


def test_a_recording_that_was_unpacked_in_part_is_unpacked_again(tmp_path: Path) -> None:
    run_dir = unpacked(demo_named("stub"), tmp_path)
    (run_dir / "results.csv").unlink()
    assert (unpacked(demo_named("stub"), tmp_path) / "results.csv").is_file()


def test_what_cannot_be_had_is_told_with_what_can(cli: Cli, tmp_path: Path) -> None:
    unknown = cli("demo", "stubb", env=CORE_ONLY)
    assert (unknown.returncode, "Did you mean `stub`?" in unknown.stderr) == (2, True)
    listed = json.loads(cli("demo", "--list", "--json", env=CORE_ONLY).stdout)
    assert "stub" in {demo["name"] for demo in listed["demos"]}
    (tmp_path / "file").write_text("")
    refused = cli("demo", "stub", "--runs-dir", "file", env=CORE_ONLY)
    assert (refused.returncode, "hint: trace-bench demo --runs-dir DIR" in refused.stderr) == (1, True)


def test_where_nothing_can_be_written_it_goes_to_a_temporary_folder(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": "/proc/none", "TMPDIR": str(tmp_path), **CORE_ONLY}
    done = subprocess.run(
        [sys.executable, "-I", "-m", "tracebench_engine.cli", "demo"],
        cwd="/proc", env=environ, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "`runs` cannot be written" in done.stderr
    assert page_in(done.stdout).asked == []
