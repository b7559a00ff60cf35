"""How long `compare` takes: `PYTHONPATH=. python benchmarks/compare.py [--jobs N]`.

The baseline reads and parses the same jobs and results. The run is written for the purpose: 10 trainers on 10 tasks, as many seeds as
make up the number of jobs.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from pathlib import Path

from tests.unit.analysis.runs import make_run

from tracebench_runs.reading.reader import load_run


def score(trainer: str, task: str, seed: int) -> float:
    """Return a score with a small difference between trainers and noise of its own."""
    return random.Random(f"{trainer} {task} {seed}").gauss(0.5 + 0.01 * int(trainer[1:]), 0.1)


def main() -> None:
    """Measure one size, in CPU seconds of this process, which do not depend on what else the machine does."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100)
    jobs = parser.parse_args().jobs
    with tempfile.TemporaryDirectory() as folder:
        seeds = range(max(1, jobs // 100))
        trainers, tasks = [f"T{i}" for i in range(10)], [f"s:{i}" for i in range(10)]
        make_run(Path(folder) / "r", score, trainers=trainers, tasks=tasks, seeds=seeds)
        start, wall = cpu(), time.perf_counter()
        read = load_run(Path(folder) / "r")
        count = len(read.results)
        baseline = cpu() - start
        start, wall = cpu(), time.perf_counter()
        from tracebench_analysis.comparison.comparison import compare_runs  # noqa: PLC0415 - its import is part of the time
        from tracebench_analysis.comparison.document import comparison_data  # noqa: PLC0415 - as above

        comparison_data(compare_runs([load_run(Path(folder) / "r")]))
        spent = cpu() - start
    print(
        f"{count} jobs: compare {spent:.2f} CPU s ({time.perf_counter() - wall:.2f} s of wall), reading alone {baseline:.2f} CPU s"
    )
    print(f"ratio {spent / baseline:.1f}")


def cpu() -> float:
    """Return the CPU seconds of this process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
