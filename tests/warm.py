"""Runs `trace-bench` in a fork of a process that has its imports: most tests ask what a command does, not that it starts anew."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from threading import Thread
from typing import IO, Any, Literal

from tracebench_core.plugins import discover
from tracebench_sandbox.forkserver.launch import ForkedProcess, ForkServer
from tracebench_sandbox.forkserver.server import added_to_path

ENTRY = "tracebench_engine.cli.__main__"
AHEAD = (
    ENTRY,
    "tracebench_engine.cli.app",
    "tracebench_engine.builtin.template_main",
    "tracebench_gateway.server.__main__",
    *(f"tracebench_engine.api.{name}" for name in ("running", "planning", "records", "analysis", "configs")),
    *(f"tracebench_engine.builtin.{name}" for name in ("internal", "trace_examples", "settings", "tasks.numeric")),
    *(f"tracebench_engine.{name}" for name in ("builtin.parts", "checks.doctor", "run.local.diagnosis")),
    "tests.warm",
)
ROOT = Path(__file__).parents[1]


def prepare() -> None:
    """Look for plugins before anything is forked, on the path that forks have: they look again where theirs is another."""
    path, added = [*sys.path], added_to_path(os.environ)
    sys.path[:] = [place for place in path if place not in added]
    discover()
    sys.path[:] = path


@cache
def _server(_process: int) -> ForkServer:
    return ForkServer.started(AHEAD, os.environ | {"PYTHONPATH": str(ROOT)})  # its own; a fork has what its order says


class Started(ForkedProcess):
    """The command in a process that goes on beside the test, with what it writes; it is spoken to like a `subprocess.Popen`."""

    def __init__(self, pid: int, stdout: IO[str], stderr: IO[str]) -> None:
        super().__init__(pid)
        self.stdout, self.stderr = stdout, stderr

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Return what it has still to say, once it has ended."""
        said = ["", ""]

        def listen(turn: int, stream: IO[str]) -> None:
            with stream:
                said[turn] = stream.read()

        listening = [
            Thread(target=listen, args=(turn, stream), daemon=True)
            for turn, stream in enumerate((self.stdout, self.stderr))
            if not stream.closed
        ]
        for thread in listening:
            thread.start()
        for thread in listening:
            thread.join(timeout)
            if thread.is_alive():
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)
        self.wait(timeout)
        return said[0], said[1]


def start(
    *arguments: str,
    folder: Path | None = None,
    environ: Mapping[str, str] | None = None,
    says: Literal["apart", "at once", "nothing"] = "apart",
) -> Started:
    """Start the command in a session of its own, in this process's folder and with its environment unless others are given.

    What it writes comes as `stdout` and `stderr`, all at once as `stdout`, or goes nowhere.
    """
    kept: list[IO[str]] = [io.StringIO(), io.StringIO()]
    ends = [os.open(os.devnull, os.O_RDWR)]
    for turn in range({"apart": 2, "at once": 1, "nothing": 0}[says]):
        heard, end = os.pipe()
        kept[turn] = os.fdopen(heard)
        ends.append(end)
    try:
        streams = [ends[0], ends[1] if ends[1:] else ends[0], ends[-1]]
        pid = _forked(arguments, folder or Path.cwd(), os.environ if environ is None else environ, streams)
    finally:
        for end in ends:
            os.close(end)
    return Started(pid, *kept)


def _forked(arguments: tuple[str, ...], folder: Path, environ: Mapping[str, str], streams: list[int]) -> int:
    order: dict[str, Any] = {
        "entry": ENTRY,
        "argv": ["trace-bench", *arguments],
        "environ": dict(environ),
        "folder": str(folder),
        "ignored": [],
        "numbers": [0, 1, 2],
    }
    return _server(os.getpid()).fork(order, streams)


def trace_bench(
    *arguments: str, folder: Path, environ: Mapping[str, str], timeout: float = 120.0
) -> subprocess.CompletedProcess[str]:
    """Run the command with arguments in a folder, with this environment alone and an empty input; `check=False`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, open(os.devnull, "rb") as nothing:  # noqa: PTH123
        pid = _forked(arguments, folder, environ, [nothing.fileno(), out.fileno(), errors.fileno()])
        process = ForkedProcess(pid)
        try:
            code = process.wait(timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
        told = []
        for stream in (out, errors):
            stream.seek(0)
            told.append(stream.read().decode())
    return subprocess.CompletedProcess(["trace-bench", *arguments], code, *told)
