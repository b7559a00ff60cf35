"""What `benchmarks/foreign.py` measures in seconds: the stub mode, the list of trainers, an evaluation through adapter and door."""

from __future__ import annotations

import io
import json
import math
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from tracebench_core.contracts import Context, Problem
from tracebench_core.specs import Example, Values
from tracebench_engine import api
from tracebench_engine.builtin.command import Command, CommandSettings
from tracebench_engine.config import parse_config
from tracebench_testing import run_trial
from tracebench_testing.toys import build_number
from tracebench_trainers_ext.launch import ADAPTERS

STUB_SECONDS = 240
SLEEP, SLEEPS = 0.05, 60
ADAPTED = f"""
import json, sys, time, tracebench_client
sys.path.insert(0, {str(ADAPTERS)!r})
from tracebench_adapters.task import Task
task = Task(tracebench_client.connect())
seconds = []
for n in range({SLEEPS}):
    begun = time.perf_counter()
    task.measure({{name: str(float(n)) for name in task.initial}}, task.train[:1], origin="timed")
    seconds.append(time.perf_counter() - begun)
json.dump(seconds, open("seconds", "w"))
"""
LISTING = """
import site, sys
site.addsitedir(sys.argv.pop())
sys.argv[1:] = ["list-trainers"]
from tracebench_engine.cli.app import main
main()
"""


def children() -> float:
    """Return the CPU seconds of all processes started from here that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stub(trainers: Sequence[str], tasks: Sequence[Mapping[str, Any]]) -> None:
    """Print how long all of them take in stub mode on two cores, and how their jobs ended."""
    config = {
        "mode": "stub",
        "seeds": [1, 2],
        "max_workers": 2,
        "runs_dir": tempfile.mkdtemp(prefix="trace-bench-"),
        "budget": {"evaluations": 30},
        "tasks": list(tasks),
        "trainers": [{"id": name} for name in trainers],
    }
    begun = time.perf_counter()
    done = api.run(parse_config(config), stream=io.StringIO())
    seconds = time.perf_counter() - begun
    cpu = json.loads((done.run_dir / "summary.json").read_text())["cpu_seconds"]
    results = list(api.load_run(done.run_dir).results.values())
    for r in results:
        if r.status == "failed" or (r.status == "skipped" and "not applicable" not in r.stop_reason):
            print(f"{r.task_id}, {r.trainer_id}, {r.status}: {r.stop_reason or r.error}")
    ends = ", ".join(f"{number} {status}" for status, number in Counter(r.status for r in results).items())
    print(
        f"{len(results)} jobs in {seconds:.0f} s, {cpu:.0f} s of CPU ({ends}); "
        f"target {STUB_SECONDS} s for all trainers on 2 cores"
    )


def listing(folder: Path) -> None:
    """Print the CPU time of `list-trainers` with this plugin and without it, the smallest of several rounds each."""
    best = dict.fromkeys(("with", "without"), math.inf)
    for name in best:
        (folder / name).mkdir(parents=True)
        for entry in Path(sysconfig.get_path("purelib")).iterdir():
            if name == "with" or "tracebench_trainers_ext" not in entry.name:
                (folder / name / entry.name).symlink_to(entry)
    for _ in range(9):
        for name in best:
            before = children()
            argv = [sys.executable, "-S", "-c", LISTING, str(folder / name)]
            found = subprocess.run(argv, check=True, capture_output=True, text=True).stdout
            assert found.startswith("Agent\t") == (name == "with")
            best[name] = min(best[name], children() - before)
    ratio = best["with"] / best["without"]
    print(
        f"list-trainers: {best['without']:.3f} s of CPU without the plugin, {best['with']:.3f} s with it: {ratio:.2f}x; goal 1.2x"
    )


class Inside:
    """Times evaluations in the trainer's own process."""

    def __init__(self, measured: list[float]) -> None:
        self._measured = measured

    def train(self, problem: Problem) -> None:
        """Measure one example again and again."""
        for n in range(SLEEPS):
            begun = time.perf_counter()
            problem.evaluate(dict.fromkeys(problem.initial, float(n)), problem.train[:1])
            self._measured.append(time.perf_counter() - begun)


def overhead(folder: Path) -> None:
    """Print what an evaluation of 50 ms takes through adapter and door, beside one in the trainer's own process."""
    toy = build_number()

    def program(values: Values, example: Example, context: Context) -> Any:
        time.sleep(SLEEP)
        return toy.task.program(values, example, context)

    slow, inside, outside = replace(toy, task=replace(toy.task, program=program)), [], []
    folder.mkdir(parents=True, exist_ok=True)
    settings = CommandSettings(argv=(sys.executable, "-c", ADAPTED), cwd=str(folder))
    for _ in range(3):  # in turn, so that a change of load meets both alike
        for trainer in (Inside(inside), Command(settings)):
            trial = run_trial(trainer, slow, answer=lambda *_: "")
            if trial.error is not None:
                raise trial.error
        outside += json.loads((folder / "seconds").read_text())
    ratio = median(outside) / median(inside)
    print(
        f"an evaluation of {SLEEP * 1000:.0f} ms: {median(inside) * 1000:.2f} ms in process, "
        f"{median(outside) * 1000:.2f} ms through adapter and door: {ratio:.3f}x; goal 1.05x"
    )
