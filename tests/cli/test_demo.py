"""The command that shows a recorded run: on a terminal, without one, interrupted, and where it may write nothing."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
import zipfile
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import COMMAND, Cli
from tests.whole import HEAVY

from tracebench_engine.api.rundirs.demos import Demo, demo_named, demos, is_here, unpacked
from tracebench_engine.builtin.hosting import open_host

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


def test_recordings_are_of_the_tasks_as_they_are_now() -> None:
    """A recording of an earlier judge is repeated with other results: record it again (docs/how-to/record-and-replay.md)."""
    host = open_host()
    stale = []
    for demo in demos():
        with zipfile.ZipFile(demo.archive) as archive:
            results = [json.loads(archive.read(name)) for name in archive.namelist() if name.endswith("/results.json")]
        assert results
        recorded = {result["task_id"]: result["versions"]["task"] for result in results}
        stale += [
            (demo.name, task) for task, version in recorded.items() if version != host.task(task).version.model_dump()
        ]
    assert stale == []


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
        "Who finds better candidates",
        "How the best one came about",
        "beside its parent",
        "Cost of all jobs",
        "trace-bench compare",
    ):
        assert told in words


@HEAVY
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


def held(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def recorded(demo: Demo) -> dict[str, bytes]:
    with zipfile.ZipFile(demo.archive) as archive:
        folder = archive.namelist()[0].partition("/")[0]
        names = [name for name in archive.namelist() if not name.endswith("/")]
        return {name.removeprefix(f"{folder}/"): archive.read(name) for name in names}


def test_an_interrupt_says_how_to_go_on_and_leaves_the_recording_whole(tmp_path: Path) -> None:
    code, written = in_terminal(tmp_path, "demo", "stub", interrupt=True)

    assert (code, "Traceback" in written) == (130, False), written[-2000:]
    assert "trace-bench resume" in written
    (run_dir,) = (path.parent.parent for path in tmp_path.glob("runs/.demos/*/*/meta/manifest.json"))
    left, shipped = held(run_dir), recorded(demo_named("stub"))
    assert {name: left.get(name) for name in shipped} == shipped


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"{")])
def test_a_recording_that_was_unpacked_in_part_is_unpacked_again(
    tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    run_dir = unpacked(demo_named("stub"), tmp_path)
    whole = held(run_dir)
    damage(run_dir / "results.csv")
    assert held(unpacked(demo_named("stub"), tmp_path)) == whole == recorded(demo_named("stub"))


def test_runs_of_the_user_that_are_called_as_a_recording_are_left_as_they_are(tmp_path: Path) -> None:
    """A run of a recording's name and jobs, by `configs/demo.yaml` say, holds what cannot be had again."""
    demo = demo_named("stub")
    shutil.copytree(unpacked(demo, tmp_path / "other"), tmp_path / "demo")
    (tmp_path / "demo" / "meta" / "mine.txt").write_text("mine")
    (tmp_path / "demo" / "results.csv").unlink()
    for path in tmp_path.glob("demo/jobs/*/results.json"):
        path.write_text("mine")
    before = held(tmp_path / "demo")

    assert unpacked(demo, tmp_path) != tmp_path / "demo"
    assert held(tmp_path / "demo") == before


def test_a_demo_is_here_only_where_its_tasks_can_run(install_plugin: Any, tmp_path: Path) -> None:
    install_plugin(
        "needy",
        """
        from tracebench_core.hookspecs import hookimpl
        from tracebench_core.specs import Requirement, TaskSpec

        @hookimpl
        def tracebench_tasks():
            needs = [Requirement(kind="env", name="NEEDY_DATA", hint="export NEEDY_DATA=DIR")]
            of = {"loader": "tracebench_engine.builtin.tasks.numeric:build_one", "metric": "distance"}
            return [TaskSpec(name="free", title="Free", **of), TaskSpec(name="bound", title="Bound", requires=needs, **of)]
        """,
    )
    here = {}
    for task in ("needy:free", "needy:bound", "needy:none"):
        archive = tmp_path / f"{task[6:]}.zip"
        with zipfile.ZipFile(archive, "w") as file:
            jobs = [{"task_id": task, "trainer_id": "RandomSearch"}]
            file.writestr("x/meta/manifest.json", json.dumps({"jobs": jobs}))
        here[task] = is_here(Demo("x", archive, "X", "Nobody's.", 0))
    assert here == {"needy:free": True, "needy:bound": False, "needy:none": False}


def test_what_cannot_be_had_is_told_with_what_can(cli: Cli, tmp_path: Path) -> None:
    unknown = cli("demo", "stubb", env=CORE_ONLY)
    assert (unknown.returncode, "Did you mean `stub`?" in unknown.stderr) == (2, True)
    listed = json.loads(cli("demo", "--list", "--json", env=CORE_ONLY).stdout)
    assert "stub" in {demo["name"] for demo in listed["demos"]}
    (tmp_path / "file").write_text("")
    refused = cli("demo", "stub", "--runs-dir", "file", env=CORE_ONLY)
    assert (refused.returncode, "hint: trace-bench demo --runs-dir DIR" in refused.stderr) == (1, True)


@HEAVY
def test_where_nothing_can_be_written_it_goes_to_a_temporary_folder(tmp_path: Path) -> None:
    environ = {"PATH": os.environ["PATH"], "HOME": "/proc/none", "TMPDIR": str(tmp_path), **CORE_ONLY}
    done = subprocess.run(
        [sys.executable, "-I", "-m", "tracebench_engine.cli", "demo"],
        cwd="/proc", env=environ, capture_output=True, text=True, timeout=110, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "`runs` cannot be written" in done.stderr
    assert page_in(done.stdout).asked == []


@pytest.mark.parametrize(("page", "words"), [("none/page.html", "No such file or directory"), (".", "Is a directory")])
def test_a_page_that_cannot_be_written_is_refused_before_anything_runs(
    cli: Cli, tmp_path: Path, page: str, words: str
) -> None:
    done = cli("demo", "stub", "--no-open", "-o", page)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"error: `{page}` cannot be written: {words}.\n  hint: trace-bench demo stub -o demo.html" in done.stderr
    assert not (tmp_path / "runs").exists()
