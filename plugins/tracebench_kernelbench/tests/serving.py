"""The evaluation server as a process of its own, and what tests ask it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

SERVE = [sys.executable, "-m", "tracebench_kernelbench.command", "serve", "--port", "0"]
TINY = {"trials": 1, "warm": 1, "least": 5, "most": 5, "budget_ms": 0}


@contextmanager
def serving(*options: str, **variables: str) -> Iterator[tuple[str, int]]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KERNELBENCH")} | variables
    with subprocess.Popen([*SERVE, *options], stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1], process.pid
        finally:
            process.terminate()
            process.wait(20)


def workers(server_pid: int) -> list[int]:
    """A thread may have started them, so all tasks are asked."""
    tasks = Path(f"/proc/{server_pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def wait_for(http: httpx.Client, job: str, *states: str) -> dict[str, Any]:
    while True:
        state: dict[str, Any] = http.get(f"/job/{job}").json()
        if state["status"] in states:
            return state
        time.sleep(0.02)
