"""What a root of its own costs a program: its start, and an evaluation that it asks for, each beside the same with the host's files.

`python benchmarks/enclosed.py [--pairs 15]`: pairs on one machine, by turns with either first; the median of the differences of starts
and of the ratios of evaluations, each with its interval (95 %, from the order of the pairs), and the goal.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tracebench_engine import api
from tracebench_engine.api.programs import held_command
from tracebench_engine.api.records import load_run
from tracebench_engine.config import parse_config

EVALUATIONS = 400
GOAL_MS, GOAL_RATIO = 30, 1.02
PROGRAM = f"""
import time, tracebench_client
problem = tracebench_client.connect()
example = [problem.train[0]]
problem.evaluate(problem.initial, example)
began = time.perf_counter()
for _ in range({EVALUATIONS}):
    problem.evaluate(problem.initial, example)
print("each:", (time.perf_counter() - began) / {EVALUATIONS})
"""


def start(files: str, folder: Path) -> float:
    """Return the seconds that it takes to start and end a program that does nothing."""
    command = held_command(["/bin/true"], folder, files=files, network="open")  # type: ignore[arg-type]  # by name
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True)
    return time.perf_counter() - began


def evaluation(files: str, folder: Path, number: int) -> float:
    """Return the seconds of one evaluation, as a program of a job sees it."""
    script = folder / "program.py"
    script.write_text(PROGRAM)
    trainer = {"id": "Command", "params_variants": [{"argv": [sys.executable, str(script)], "files": files}]}
    config = {"runs_dir": str(folder / f"{files}-{number}"), "tasks": ["internal:numeric_param"], "trainers": [trainer]}
    summary = api.run(parse_config(config), stream=io.StringIO())
    job = next(iter(load_run(summary.run_dir).results))
    found = re.search(r"each: (\S+)", (summary.run_dir / "jobs" / job / "stdout.log").read_text())
    assert found
    return float(found[1])


def pair(measure: Callable[[str], float], *, is_turned: bool) -> tuple[float, float]:
    """Return what is measured with the host's files and with a root of its own, the latter first where it is turned."""
    found = {files: measure(files) for files in (("folder", "host") if is_turned else ("host", "folder"))}
    return found["host"], found["folder"]


def median_within(figures: Sequence[float]) -> tuple[float, float, float]:
    """Return the median and the bounds by order that hold the true one in at least 95 % of cases, whatever the noise."""
    ordered, number = sorted(figures), len(figures)
    cut, below = 0, 0.5**number
    while below <= 0.025 and cut < number // 2:
        cut += 1
        below += math.comb(number, cut) * 0.5**number
    at = max(cut - 1, 0)
    return statistics.median(ordered), ordered[at], ordered[-1 - at]


def main() -> None:
    """Print both figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--pairs", type=int, default=15, help="pairs of runs; starts are four times as many (default 15)"
    )
    pairs: int = parser.parse_args().pairs
    if pairs < 6:  # below that no interval holds so often
        parser.error("at least 6 pairs")
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        starts = [pair(lambda files: start(files, folder), is_turned=n % 2 == 1) for n in range(4 * pairs)]
        runs = [pair(lambda files, n=n: evaluation(files, folder, n), is_turned=n % 2 == 1) for n in range(pairs)]  # type: ignore[misc]  # bound now
    more = median_within([1e3 * (own - host) for host, own in starts])
    ratio = median_within([own / host for host, own in runs])
    start_ms, each_ms = (
        [1e3 * statistics.median(side) for side in zip(*found, strict=True)] for found in (starts, runs)
    )
    print(
        f"load {before:.1f} before, {os.getloadavg()[0]:.1f} after; {len(starts)} pairs of starts, {len(runs)} of runs"
    )
    print(
        f"start     host {start_ms[0]:6.1f} ms   folder {start_ms[1]:6.1f} ms   more {words(more, '.1f')} ms   (goal: {GOAL_MS} ms)"
    )
    print(
        f"evaluate  host {each_ms[0]:6.3f} ms   folder {each_ms[1]:6.3f} ms   x{words(ratio, '.3f')}   (goal: x{GOAL_RATIO})"
    )
    print(json.dumps({"pairs": pairs, "more_ms": more, "ratio": ratio, "load": before}))


def words(found: tuple[float, float, float], form: str) -> str:
    """Return a median with its interval."""
    middle, low, high = found
    return f"{middle:{form}} ({low:{form}} to {high:{form}})"


if __name__ == "__main__":
    main()
