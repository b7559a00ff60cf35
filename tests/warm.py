"""Runs `trace-bench` in a fork of a process that has its imports: most tests ask what a command does, not that it starts anew."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

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


def trace_bench(
    *arguments: str, folder: Path, environ: Mapping[str, str], timeout: float = 120.0
) -> subprocess.CompletedProcess[str]:
    """Run the command with arguments in a folder, with this environment alone and an empty input; `check=False`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors, open(os.devnull, "rb") as nothing:  # noqa: PTH123
        order = {
            "entry": ENTRY,
            "argv": ["trace-bench", *arguments],
            "environ": dict(environ),
            "folder": str(folder),
            "ignored": [],
            "numbers": [0, 1, 2],
        }
        pid = _server(os.getpid()).fork(order, [nothing.fileno(), out.fileno(), errors.fileno()])
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
