"""Plan 100,000 jobs, and decide what to resume over 100,000 finished: `python benchmarks/planning.py [--jobs N]`.

Each part runs in a process of its own, whose peak memory is its own. The baselines do the least that the answer needs: build the job
specs without resolving anything, and read every `results.json` without looking at it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tracebench_core.ids import content_hash
from tracebench_core.specs import JobSpec
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.check.recovery import settle
from tracebench_runs.events.reduce import not_run
from tracebench_runs.journal.journal import EndRecord, Journal
from tracebench_runs.meta.manifest import write_manifest
from tracebench_runs.meta.planned import iter_jobs
from tracebench_runs.results.results import result_bytes
from tracebench_runs.results.tables import TableWriter
from tracebench_runs.storage.layout import RunLayout

T = TypeVar("T")
PARTS = ("plan", "prepare", "decide", "tables")


def main() -> None:
    """Run every part in its own process, or one part in this one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--part", choices=PARTS)
    parser.add_argument("--folder", type=Path)
    chosen = parser.parse_args()
    if chosen.part:
        {"plan": plan, "prepare": prepare, "decide": decide, "tables": tables}[chosen.part](chosen.jobs, chosen.folder)
        return
    with tempfile.TemporaryDirectory(prefix="planning-") as folder:
        for part in PARTS:
            command = [sys.executable, __file__, "--part", part, "--jobs", str(chosen.jobs), "--folder", folder]
            subprocess.run(command, check=True)


def plan(jobs: int, folder: Path) -> None:
    """Time the plan of a matrix of 2 tasks x 2 trainers x seeds."""
    del folder
    made = timed(f"plan {jobs:,} jobs", lambda: planned(jobs))
    first = made[0].model_dump()
    timed("  baseline: bare specs of as many", lambda: [JobSpec.model_construct(**first) for _ in range(len(made))])


def prepare(jobs: int, folder: Path) -> None:
    """Lay out a run whose jobs are all finished."""
    layout = RunLayout(folder / "run").create()
    specs = planned(jobs)
    write_manifest(layout, {}, specs, durable=False)
    ends = []
    for job in specs:
        data = result_bytes(not_run(job).model_copy(update={"status": "ok"}))
        place = layout.job(job.job_id)
        place.path.mkdir()
        place.results.write_bytes(data)
        ends.append(EndRecord(job.job_id, "ok", content_hash(data)))
    with Journal(layout) as journal:
        journal.jobs_finished(ends)


def decide(jobs: int, folder: Path) -> None:
    """Time what a resume does before its first job, and reading the same files."""
    layout = RunLayout(folder / "run")
    ids = timed("read the manifest", lambda: [job.job_id for job in iter_jobs(layout)])
    settled = timed(f"decide what to resume of {jobs:,} finished", lambda: settle(layout.path, ids))
    assert len(settled.finished) == len(ids)
    timed("  baseline: read every results.json", lambda: [read(f"{layout.jobs}/{job}/results.json") for job in ids])


def tables(jobs: int, folder: Path) -> None:
    """Time the tables of a run that is resumed with everything finished."""
    layout = RunLayout(folder / "run")
    specs = timed("keep every job of the manifest", lambda: tuple(iter_jobs(layout)))
    writer = TableWriter(layout, specs)
    timed(f"read {jobs:,} results for the tables", lambda: writer.load([job.job_id for job in specs]))


def planned(jobs: int) -> tuple[JobSpec, ...]:
    """Return the jobs of a matrix of at least this size."""
    config = parse_config(
        {
            "tasks": ["internal:numeric_param", "internal:multi_param"],
            "trainers": ["NoOp", "RandomSearch"],
            "seeds": list(range(jobs // 4)),
        }
    )
    return api.plan(config).jobs


def read(path: str) -> int:
    """Read a file and forget it."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return len(os.read(fd, 1 << 20))
    finally:
        os.close(fd)


def timed(what: str, work: Callable[[], T]) -> T:
    """Print the seconds, wall and CPU, that `work` takes; return what it returns."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{what:46} {wall:6.2f} s wall {cpu:6.2f} s CPU   peak so far {peak:4.0f} MB", flush=True)
    return result


if __name__ == "__main__":
    main()
