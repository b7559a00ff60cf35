"""Runs `trace-bench` in a fork of a process that has its imports: most tests ask what a command does, not that it starts anew."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from tracebench_sandbox.forkserver.launch import ForkedProcess, ForkServer

ENTRY = "tracebench_engine.cli.__main__"
AHEAD = (
    ENTRY,
    "tracebench_engine.cli.app",
    "tracebench_engine.builtin.template_main",
    "tracebench_gateway.server.__main__",
    *(f"tracebench_engine.api.{name}" for name in ("running", "planning", "records", "analysis")),
)


@cache
def _server(_process: int) -> ForkServer:
    environ = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return ForkServer.started(AHEAD, environ)


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
