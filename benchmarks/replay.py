"""What recording and replaying cost: `python benchmarks/replay.py [--jobs 100]`.

* replay: jobs per second of a recorded run of so many jobs, as `trace-bench replay` runs it, and whether it came out the same;
* recording: wall time of the same run with and without `llm.record`, at 50 ms model latency, interleaved.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.run.replay import replay_of
from tracebench_runs.reading.compare import differences
from tracebench_testing.fake_openai import FakeOpenAI

CALLS = 4
LATENCY = 0.05
REPEATS = 4


def run(runs: Path, server: FakeOpenAI, *, jobs: int, workers: int, record: bool) -> tuple[Path, float]:
    """Run so many jobs of `CALLS` calls each; returns the run's folder and its seconds."""
    config: dict[str, Any] = {
        "mode": "real",
        "tasks": ["internal:numeric_param"],
        "trainers": [{"id": "SequentialRefine", "params": {"num_steps": CALLS}}],
        "seeds": list(range(jobs)),
        "max_workers": workers,
        "runs_dir": str(runs),
        "llm": {"model": "fake", "base_url": server.base_url, "record": record},
    }
    begun = time.perf_counter()
    summary = api.run(parse_config(config), stream=io.StringIO())
    return summary.run_dir, time.perf_counter() - begun


def reply(messages: list[dict[str, Any]]) -> str:
    """Answer by the prompt."""
    return json.dumps({"reasoning": "so", "values": {"x": sum(map(ord, json.dumps(messages))) % 1000 / 300}})


def replay(jobs: int) -> str:
    """Return the rate of a replay."""
    with tempfile.TemporaryDirectory() as folder, FakeOpenAI(reply=reply) as server:
        recorded, _ = run(Path(folder), server, jobs=jobs, workers=2, record=True)
        again = replay_of(recorded, max_workers=2)
        begun = time.perf_counter()
        summary = api.run(again.config, stream=io.StringIO())
        seconds = time.perf_counter() - begun
        found = len(list(differences(api.load_run(recorded), api.load_run(summary.run_dir))))
    rate = f"{jobs} jobs of {CALLS} calls in {seconds:.2f} s = {jobs / seconds:.0f} jobs/s"
    return f"replay: {rate}, starting included; {found} differences; target 20 jobs/s"


def recording(jobs: int) -> str:
    """Return what recording adds."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder, FakeOpenAI(reply=reply, delay=LATENCY) as server:
        for i in range(2 * REPEATS):
            record = i % 4 in {1, 2}  # neither is always the first of its pair
            seconds[record].append(run(Path(folder), server, jobs=jobs, workers=2, record=record)[1])
    plain, recorded = median(seconds[False]), median(seconds[True])
    return (
        f"recording: {jobs} jobs of {CALLS} calls at {LATENCY * 1000:.0f} ms: {plain:.2f} s without, {recorded:.2f} s with, "
        f"{recorded / plain - 1:+.1%}; target +5 %"
    )


def main() -> None:
    """Print both."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100)
    args = parser.parse_args()
    print(replay(args.jobs))
    print(recording(max(1, args.jobs // 2)))


if __name__ == "__main__":
    main()
