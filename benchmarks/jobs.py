"""Isolated jobs a second with durable results, as ratios to a bare fork: `python benchmarks/jobs.py [--large N]`.

The baseline is the least that an isolated job with a durable result can be: a template with the same imports forks, the child writes one
file and flushes it, one after the other. On a machine that is shared, compare CPU milliseconds rather than jobs a second.
"""

from __future__ import annotations

import argparse
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tracebench_engine import api
from tracebench_engine.config import parse_config

FLOOR = """
import gc, os, sys, time
from importlib import import_module
for name in sys.argv[3:]: import_module(name)
gc.collect(); gc.freeze()
folder, jobs = sys.argv[1], int(sys.argv[2])
started = time.perf_counter()
for n in range(jobs):
    pid = os.fork()
    if pid == 0:
        fd = os.open(f"{folder}/{n}", os.O_WRONLY | os.O_CREAT)
        os.write(fd, b"x" * 1000)
        os.fsync(fd)
        os._exit(0)
    os.waitpid(pid, 0)
print(time.perf_counter() - started)
"""
MODULES = (
    "tracebench_engine.builtin.template_main", "tracebench_engine.job.job", "tracebench_engine.job.finish",
    "tracebench_runs.events.writer", "tracebench_runs.events.states",
)  # fmt: skip


def measure_floor(folder: Path, jobs: int) -> float:
    """Return jobs a second of the baseline."""
    folder.mkdir()
    told = subprocess.run(
        [sys.executable, "-c", FLOOR, str(folder), str(jobs), *MODULES], check=True, capture_output=True, text=True
    )
    return jobs / float(told.stdout)


def measure(name: str, config: dict[str, Any], *, folder: Path, floor: float) -> None:
    """Run a config and print how fast it went, what it cost, and whether it slowed down."""
    before, started = time.process_time(), time.perf_counter()
    summary = api.run(parse_config({**config, "runs_dir": str(folder)}), stream=io.StringIO())
    wall, own = time.perf_counter() - started, time.process_time() - before
    jobs = sum(summary.counts.values())
    others = json.loads((summary.run_dir / "summary.json").read_text())["cpu_seconds"] - own
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    first, last = pace(summary.run_dir)
    inodes, kilobytes = size(summary.run_dir)
    print(
        f"{name:44} {jobs / wall:5.0f} jobs/s = {jobs / wall / floor:4.2f} of the baseline; CPU a job: runner {1000 * own / jobs:4.1f} ms,"
        f" others {1000 * others / jobs:4.1f} ms; first tenth {first:4.0f}/s, last {last:4.0f}/s; runner {peak:.0f} MB;"
        f" a job's folder {inodes:.1f} inodes, {kilobytes:.0f} kB; {summary.counts}",
        flush=True,
    )


def size(run_dir: Path) -> tuple[float, float]:
    """Return how many files and folders a job leaves on the disk, and how many kilobytes they take there, on average."""
    homes = [*(run_dir / "jobs").iterdir()]
    found = [path.stat() for home in homes for path in (home, *home.rglob("*"))]
    return len(found) / len(homes), sum(entry.st_blocks for entry in found) / 2 / len(homes)


def pace(run_dir: Path) -> tuple[float, float]:
    """Return jobs a second over the first and the last tenth of a run, by the journal's times."""
    lines = (run_dir / "journal-main.jsonl").read_bytes().splitlines()
    ends = [_seconds(json.loads(line)["t"]) for line in lines if b'"job_finished"' in line]
    tenth = max(2, len(ends) // 10)
    return tuple(tenth / max(part[-1] - part[0], 0.001) for part in (ends[:tenth], ends[-tenth:]))  # type: ignore[return-value]


def _seconds(stamp: str) -> float:
    hours, minutes, seconds = stamp.removesuffix("Z").partition("T")[2].split(":")
    return int(hours) * 3600 + int(minutes) * 60 + float(seconds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=int, default=10_000, help="jobs of the large run; 0 leaves it out")
    parser.add_argument("--folder", type=Path, help="where runs go: the disk that is measured")
    chosen = parser.parse_args()
    task = {"tasks": ["internal:numeric_param"], "mode": "stub"}
    with tempfile.TemporaryDirectory(dir=chosen.folder) as temporary:
        folder = Path(temporary)
        floor = measure_floor(folder / "floor", 500)
        print(f"{'baseline: bare fork, one file, one fsync':44} {floor:5.0f} jobs/s", flush=True)
        for workers in (1, 2):
            config = {**task, "trainers": ["NoOp"], "seeds": list(range(500)), "max_workers": workers}
            measure(f"500 NoOp jobs, {workers} workers", config, folder=folder, floor=floor)
        both = {
            **task,
            "trainers": [
                "NoOp",
                {"id": "PrioritySearch", "params": {"ps_steps": 1, "ps_candidates": 2, "ps_proposals": 2}},
            ],
            "seeds": list(range(50)),
            "max_workers": 4,
        }
        measure("50 NoOp and 50 PrioritySearch, 4 workers", both, folder=folder, floor=floor)
        if chosen.large:
            config = {**task, "trainers": ["NoOp"], "seeds": list(range(chosen.large)), "max_workers": 2}
            measure(f"{chosen.large:,} NoOp jobs, 2 workers", config, folder=folder, floor=floor)


if __name__ == "__main__":
    main()
