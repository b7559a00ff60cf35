"""What the journal's seals cost a run: `python benchmarks/hashing.py [--pairs N] [--jobs N]`.

Each pair runs NoOp jobs, as `benchmarks/jobs.py` does, twice, in an order that alternates: as they are, and with no SHA-256 in the runner
(seals of events, logs and files, digests of results, sums of the journal's lines, the end of each training). The CPU time of the
whole process tree is compared, because the machine may be shared; the figure is the median of the pairs' ratios, beside the range of
their middle half. Goal: at most 1.03.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from tracebench_engine import api
from tracebench_engine.config import parse_config
from tracebench_engine.run.trainings import Trainings
from tracebench_runs.journal import commit, index, journal
from tracebench_runs.results import results
from tracebench_runs.storage import seal

NOTHING = "0" * 64


class NoHash:
    """Stands where SHA-256 was: takes all, and says the same of everything."""

    def __init__(self, _data: bytes = b"") -> None:
        pass

    def update(self, _data: bytes) -> None:
        """Take some."""

    def hexdigest(self) -> str:
        """Return 64 digits."""
        return NOTHING


def sealed_by_size(path: Path) -> seal.Seal:
    """Return a seal without reading the file."""
    return seal.Seal(path.stat().st_size, NOTHING)


def run(folder: Path, jobs: int, *, is_bare: bool) -> None:
    """Run the jobs, with hashes or without; what their own processes do is the same in both."""
    fields = {"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "seeds": list(range(jobs)), "max_workers": 2}
    config = parse_config({**fields, "mode": "stub", "runs_dir": str(folder)})
    none = SimpleNamespace(sha256=NoHash)
    without: list[tuple[Any, str, Any]] = [
        (seal, "hashlib", none),
        (index, "hashlib", none),
        (journal, "content_hash", mock.Mock(return_value=NOTHING)),
        (results, "content_hash", mock.Mock(return_value=NOTHING)),
        (commit, "seal_of", sealed_by_size),
        (Trainings, "ended", mock.Mock()),
    ]
    with ExitStack() as stack:
        for place, name, stand_in in without if is_bare else ():
            stack.enter_context(mock.patch.object(place, name, stand_in))
        api.run(config, stream=io.StringIO())


def once(jobs: int, *, is_hashed: bool) -> float:
    """Run the jobs in a process of their own; return its CPU seconds, those of its children included."""
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "--folder", folder, "--jobs", str(jobs), *([] if is_hashed else ["--bare"])]
        subprocess.run(words, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--bare", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.folder is not None:
        run(chosen.folder, chosen.jobs, is_bare=chosen.bare)
        return
    once(chosen.jobs, is_hashed=True)  # warms the caches of the disk
    ratios, hashed, bare = list[float](), list[float](), list[float]()
    for number in range(chosen.pairs):
        order = (True, False) if number % 2 else (False, True)
        seconds = {is_hashed: once(chosen.jobs, is_hashed=is_hashed) for is_hashed in order}
        hashed.append(seconds[True])
        bare.append(seconds[False])
        ratios.append(hashed[-1] / bare[-1])
        print(f"{hashed[-1]:7.3f} s of CPU with hashes, {bare[-1]:7.3f} s without: {ratios[-1]:.3f}x", flush=True)
    quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
    told = {
        "jobs": chosen.jobs,
        "pairs": chosen.pairs,
        "median_ratio": round(quarters[1], 4),
        "middle_half": [round(quarters[0], 4), round(quarters[2], 4)],
        "ratio_of_least": round(min(hashed) / min(bare), 4),
    }
    print(json.dumps(told))


if __name__ == "__main__":
    main()
