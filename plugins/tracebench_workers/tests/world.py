"""Runs whose jobs are on workers, as people type them: a folder, the commands that are started in it, and what they leave."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.warm import Started, start, trace_bench

from tracebench_workers.ticket import Ticket

Process = subprocess.Popen[str] | Started
COMMAND = str(Path(sys.executable).with_name("trace-bench"))
SLOW = """
import os, time
from pathlib import Path
class Waits:
    def __init__(self, settings): ...
    def train(self, problem):
        problem.evaluate(problem.initial)
        here = Path(__file__).parent
        (here / f"begun-{problem.seed}-{os.getpid()}").touch()
        while not (here / "go").exists(): time.sleep(0.02)
"""
WAITS = """
run_id: r
tasks: [internal:numeric_param]
trainers: ["./slow.py:Waits"]
seeds: [1, 2]
max_workers: 2
executor: workers
plugins: {options: {workers: {listen: "127.0.0.1:0", ticket: ticket, lease: 3}}}
"""
BIG = """
from tracebench_core.registry import trainer
from tracebench_core.specs import Resources
@trainer(resources=Resources({what}))
class Big:
    def __init__(self, settings): ...
    def train(self, problem): ...
"""
TAKES = """
run_id: big
tasks: [internal:numeric_param]
trainers: ["./big.py:Big"]
"""
MODELS = """
tasks: [internal:code_param, internal:numeric_param]
trainers: [NoOp, BestOfN]
seeds: [1, 2]
mode: stub
budget: {llm_calls: 4}
max_workers: 2
"""


class World:
    """A folder, and the commands that are started in it."""

    def __init__(self, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.environ = environ or {}
        self.started: list[Process] = []
        (folder / "slow.py").write_text(SLOW)
        (folder / "waits.yaml").write_text(WAITS)
        (folder / "models.yaml").write_text(MODELS)
        (folder / "takes.yaml").write_text(TAKES)

    def start(self, *words: str, within: Sequence[str] = (), **environ: str) -> Process:
        """Start the command with these words; `within` is a command of its own that runs it."""
        variables = {**os.environ, **self.environ, **environ}
        process: Process
        if within:
            process = subprocess.Popen(
                [*within, COMMAND, *words], cwd=self.folder, env=variables, text=True, start_new_session=True,
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        else:
            process = start(*words, folder=self.folder, environ=variables, says="at once")
        self.started.append(process)
        return process

    def worker(self, name: str, **environ: str) -> Process:
        self.wait_for((self.folder / "ticket").exists)
        return self.start("worker", "--ticket", "ticket", "--name", name, **environ)

    def begun(self) -> dict[str, int]:
        """Return the pids of jobs that have begun, the last of each seed."""
        found = sorted(self.folder.glob("begun-*"), key=lambda path: path.stat().st_mtime_ns)
        return {path.name.split("-")[1]: int(path.name.split("-")[2]) for path in found}

    def wait_for(self, condition: Callable[[], Any]) -> Any:
        until = time.monotonic() + 600
        while not (found := condition()):
            assert time.monotonic() < until, "it did not happen"
            time.sleep(0.02)
        return found

    def ticket(self) -> Ticket:
        self.wait_for((self.folder / "ticket").exists)
        return Ticket.parse((self.folder / "ticket").read_text())

    def leaderboard(self, run: str) -> list[dict[str, str]]:
        with (self.folder / "runs" / run / "leaderboard.csv").open(newline="") as file:
            return [{k: v for k, v in row.items() if "second" not in k} for row in csv.DictReader(file)]

    def statuses(self) -> list[str]:
        results = sorted((self.folder / "runs/r/jobs").glob("*/results.json"))
        return [json.loads(path.read_text())["status"] for path in results]

    def asked(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        environ = {**os.environ, **self.environ}
        return trace_bench(*words, folder=self.folder, environ=environ, timeout=900)

    def refusals(self, what: str, *options: str) -> str:
        """Return what `validate` and `run` say of jobs that take more than there is; both must refuse them, and make nothing."""
        (self.folder / "big.py").write_text(BIG.format(what=what))
        checked = self.asked("validate", "--strict", "--config", "takes.yaml", *options)
        assert checked.returncode == 1, checked
        run = self.asked("run", "--config", "takes.yaml", *options)
        assert run.returncode == 2, run
        said = checked.stdout + run.stderr
        assert "Traceback" not in said
        return said

    def states(self) -> list[dict[str, Any]]:
        """Return the workers that `ps` tells of."""
        runs = json.loads(self.asked("ps", "--json").stdout)["runs"]
        here = str(self.folder.resolve())
        return [worker for run in runs if run["run_dir"].startswith(here) for worker in run["workers"]]

    def close(self) -> None:
        """Kill what was started."""
        for process in self.started:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
