"""What the journal's seals cost a run: `python benchmarks/hashing.py [--pairs N] [--jobs N]`.

Each pair runs the jobs benchmark's NoOp jobs twice, in an order that alternates: as they are, and with every SHA-256 of the store replaced by
a constant (seals, digests of results, sums of journal lines, the index of files). CPU time of the whole process tree is compared, because the
machine may be shared; the figure is the median of the pairs' ratios, with its range of the middle half. Goal: at most 3 % more.
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
from pathlib import Path
from unittest import mock


class NoHash:
    """Stands where SHA-256 was: takes all, and says the same of everything."""

    def __init__(self, _data: bytes = b"") -> None:
        pass

    def update(self, _data: bytes) -> None:
        """Take some."""

    def hexdigest(self) -> str:
        """Return 64 digits."""
        return "0" * 64


def once(jobs: int, *, is_hashed: bool) -> float:
    """Run the jobs in a process of their own; return its CPU seconds, those of its children included."""
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, __file__, "--folder", folder, "--jobs", str(jobs), *([] if is_hashed else ["--bare"])]
        subprocess.run(words, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


def run(folder: Path, jobs: int, *, is_bare: bool) -> None:
    """Run the jobs; the processes of jobs hash nothing of the store that is counted here."""
    from tracebench_core import api
    from tracebench_core.config import parse_config
    from tracebench_core.store import commit, index, journal, seal

    fields = {"tasks": ["internal:numeric_param"], "trainers": ["NoOp"], "seeds": list(range(jobs)), "max_workers": 2}
    config = parse_config({**fields, "mode": "stub", "runs_dir": str(folder)})
    if not is_bare:
        api.run(config, stream=io.StringIO())
        return
    with (
        mock.patch.object(seal, "hashlib", mock.Mock(sha256=NoHash)),
        mock.patch.object(journal, "content_hash", lambda _data: "0" * 64),
        mock.patch.object(commit, "seal_of", lambda path: seal.Seal(path.stat().st_size, "0" * 64)),
        mock.patch.object(index, "content_hash", lambda _data: "0" * 64, create=True),
    ):
        api.run(config, stream=io.StringIO())


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
    ratios, hashed, bare = [], [], []
    for number in range(chosen.pairs):
        order = (True, False) if number % 2 else (False, True)
        seconds = {is_hashed: once(chosen.jobs, is_hashed=is_hashed) for is_hashed in order}
        ratios.append(seconds[True] / seconds[False])
        hashed.append(seconds[True])
        bare.append(seconds[False])
        print(
            f"pair {number + 1:2}: {seconds[True]:.3f} s of CPU with hashes, {seconds[False]:.3f} s without: {ratios[-1]:.3f}x",
            flush=True,
        )
    quarters = statistics.quantiles(ratios, n=4) if len(ratios) > 1 else [ratios[0]] * 3
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
