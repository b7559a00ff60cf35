"""Proposals of one job under way together: `python benchmarks/side_by_side.py [--repeats 3]`.

One step of `PrioritySearch` asks for 16 proposals from a server on this machine that answers each after 0.3 s, once with 8 calls in
flight and once with 1. It prints the time from the first request to the last answer beside the ideal, which is that many waits and
nothing else.
"""

from __future__ import annotations

import argparse
import io
import itertools
import json
import tempfile
import threading
import time
from pathlib import Path
from statistics import median
from typing import Any

from tracebench_core.specs.events import CandidateSeen
from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_runs.events.eventlog import read_events
from tracebench_testing.fake_openai import FakeOpenAI

PROPOSALS = 16
LATENCY = 0.3
IN_FLIGHT = (8, 1)


class Clock:
    """Answers each request anew, and knows when the first came and the last was answered."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self.times: list[float] = []

    def __call__(self, _messages: list[dict[str, Any]]) -> str:
        """Return a value that no other answer has."""
        with self._lock:
            self.times.append(time.perf_counter())
            return json.dumps({"values": {"x": next(self._numbers) / 100}})

    def seconds(self) -> float:
        """Return the time from the first request to the last answer, the first one's wait included."""
        return max(self.times) - min(self.times) + LATENCY


def measure(folder: Path, in_flight: int) -> tuple[float, int]:
    """Run one job; return its seconds of asking and how many candidates it met."""
    clock = Clock()
    with FakeOpenAI(reply=clock, delay=LATENCY) as server:
        settings = {"num_steps": 1, "num_candidates": 1, "num_proposals": PROPOSALS, "num_threads": in_flight}
        summary = api.run(
            parse_config(
                {
                    "mode": "real",
                    "tasks": ["internal:numeric_param"],
                    "trainers": [{"id": "PrioritySearch", "optimizer": "Reflective", "params": settings}],
                    "runs_dir": str(folder),
                    "llm": {"model": "fake", "base_url": server.base_url},
                }
            ),
            stream=io.StringIO(),
        )
    run = api.load_run(summary.run_dir)
    [job] = run.planned
    return clock.seconds(), sum(isinstance(e, CandidateSeen) for e in read_events(run.layout.job(job.job_id)).events)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    found: dict[int, list[float]] = {n: [] for n in IN_FLIGHT}
    with tempfile.TemporaryDirectory() as folder:
        for i in range(repeats):
            for n in IN_FLIGHT:
                seconds, candidates = measure(Path(folder, f"{i}-{n}"), n)
                if candidates != PROPOSALS + 1:
                    raise SystemExit(f"{candidates} candidates, not {PROPOSALS + 1}")
                found[n].append(seconds)
    for n, seconds in found.items():
        ideal = -(-PROPOSALS // n) * LATENCY
        print(f"{n} in flight: {median(seconds):.2f} s, {median(seconds) / ideal:.2f} x the ideal of {ideal:.1f} s")


if __name__ == "__main__":
    main()
