"""What the suite adds to Harbor: the same toy job as an evaluation and as a bare `harbor run`, in turns; and twelve trials at a time.

    TRACE_BENCH_HARBOR=… python benchmarks/terminal_bench.py --rounds 3

Baseline: `harbor run -c job.json` of the same configuration. The agent is each task's own solution; no model is asked.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
import uuid
from datetime import datetime
from pathlib import Path

from tracebench_core import api
from tracebench_terminalbench.catalog import cases_of
from tracebench_terminalbench.found import find_harbor
from tracebench_terminalbench.job_config import job_config
from tracebench_terminalbench.launch import harbor_environ
from tracebench_terminalbench.options import Options

TASK = "toy/hello-file"
TRIALS, AT_A_TIME = 12, 4


def bare(options: Options, name: str, folder: Path) -> tuple[float, list[float]]:
    """Return the seconds of a bare Harbor job on a task's training examples, and of each of its trials."""
    job = f"bare-{uuid.uuid4().hex[:8]}"
    config = job_config(options, cases_of(name)["train"], name=job, folder=folder, subject={}, model=None)
    path = folder / f"{job}.json"
    path.write_text(json.dumps(config))
    started = time.perf_counter()
    argv = [find_harbor().command, "run", "-c", str(path), "--yes"]
    subprocess.run(argv, env=harbor_environ(os.environ, extra={}), capture_output=True, check=True)
    seconds = time.perf_counter() - started
    results = [json.loads(p.read_text()) for p in (folder / job).glob("*/result.json")]
    return seconds, [_seconds(result) for result in results]


def evaluated(name: str, **options: object) -> float:
    """Return the seconds of the same job as an evaluation of the suite."""
    started = time.perf_counter()
    feedback = api.evaluate_task(f"terminal_bench:{name}", eval_kwargs=options)
    assert all(one.score == 1.0 for one in feedback)
    return time.perf_counter() - started


def _seconds(result: dict[str, str]) -> float:
    begin, end = (datetime.fromisoformat(result[key]) for key in ("started_at", "finished_at"))
    return (end - begin).total_seconds()


def main() -> None:
    """Print the two ratios."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        oracle = Options(agent="oracle")
        bare(oracle, TASK, folder)  # warms the file cache
        pairs = [(bare(oracle, TASK, folder)[0], evaluated(TASK, agent="oracle")) for _ in range(rounds)]
        alone, ours = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(
            f"one toy evaluation: {ours:.1f} s; bare `harbor run`: {alone:.1f} s; ratio {ours / alone:.2f} (goal 1.5)"
        )
        many = Options(agent="oracle", attempts=TRIALS // 3, concurrency=AT_A_TIME)
        trial = statistics.median(bare(many, "toys", folder)[1])
        whole = evaluated("toys", agent="oracle", attempts=many.attempts, concurrency=many.concurrency)
        goal = 2 * (TRIALS / AT_A_TIME) * trial
        print(f"{TRIALS} trials, {AT_A_TIME} at a time: {whole:.1f} s; median trial {trial:.1f} s; goal {goal:.1f} s")


if __name__ == "__main__":
    main()
