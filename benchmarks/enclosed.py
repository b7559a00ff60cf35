"""What a root of its own costs a program: its start, and an evaluation that it asks for, each beside the same with the host's files.

`python benchmarks/enclosed.py`: pairs in turns on one machine; medians of starts, the least of evaluations, and the goal of each.
"""

from __future__ import annotations

import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tracebench_core import api
from tracebench_core.api.programs import held_command
from tracebench_core.api.records import load_run
from tracebench_core.config import parse_config

STARTS, RUNS, EVALUATIONS = 60, 6, 400
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


def main() -> None:
    """Print both figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        starts = [(start("host", folder), start("folder", folder)) for _ in range(STARTS)]
        evaluations = [(evaluation("host", folder, n), evaluation("folder", folder, n)) for n in range(RUNS)]
    host, own = (1e3 * statistics.median(side) for side in zip(*starts, strict=True))
    more = 1e3 * statistics.median(b - a for a, b in starts)
    least = [min(side) for side in zip(*evaluations, strict=True)]  # what other programs take is no part of it
    ratio = least[1] / least[0]
    each = [1e3 * min(side) for side in zip(*evaluations, strict=True)]
    print(f"load {os.getloadavg()[0]:.1f}")
    print(f"start     host {host:6.1f} ms   folder {own:6.1f} ms   more {more:5.1f} ms   (goal: 30 ms)")
    print(f"evaluate  host {each[0]:6.3f} ms   folder {each[1]:6.3f} ms   x{ratio:.3f}          (goal: x1.02)")
    print(json.dumps({"more_ms": more, "ratio": ratio}))


if __name__ == "__main__":
    main()
