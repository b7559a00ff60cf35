"""Go through schedules of simulated runs, on every core: `python -m tests.simulation --schedules 1500`.

A schedule that breaks a law is told by its seed, with the command that repeats it. Exit code 1 when there is one.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.simulation.gateway import GatewayBench
from tests.simulation.schedule import STATE, Bench, Report

SHARE = 250
"""Schedules at most that a process goes through at one go."""
MOST_SHOWN = 10
PARTS: dict[str, Callable[[Path], Bench | GatewayBench]] = {"runner": Bench, "gateway": GatewayBench}


@contextmanager
def memory() -> Iterator[Path]:
    """Yield a folder in memory where there is one; what the engine keeps for its user lies there as well."""
    shared = Path("/dev/shm")
    folder = Path(tempfile.mkdtemp(prefix="simulated-", dir=shared if os.access(shared, os.W_OK) else None))
    users = os.environ.get("XDG_STATE_HOME")
    os.environ["XDG_STATE_HOME"] = str(folder / STATE)
    try:
        yield folder
    finally:
        if users is None:
            del os.environ["XDG_STATE_HOME"]
        else:
            os.environ["XDG_STATE_HOME"] = users
        shutil.rmtree(folder, ignore_errors=True)


def go_through(seeds: range, *, part: str) -> list[Report]:
    """Go through some schedules."""
    with memory() as folder:
        bench = PARTS[part](folder)
        return [bench.try_one(seed) for seed in seeds]


def main() -> int:
    """Go through them, and say what was met."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--schedules", type=int, default=1_500)
    parser.add_argument("--seed", type=int, default=1, help="of the first schedule")
    parser.add_argument("--part", choices=PARTS, default="runner", help="what is simulated")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    seeds = range(asked.seed, asked.seed + asked.schedules)
    share = max(1, min(SHARE, -(-len(seeds) // asked.workers)))
    shares = [seeds[i : i + share] for i in range(0, len(seeds), share)]
    started, done, wrong = time.monotonic(), 0, 0
    met: Counter[str] = Counter()
    with get_context("fork").Pool(max(1, min(asked.workers, len(shares)))) as pool:
        for reports in pool.imap_unordered(partial(go_through, part=asked.part), shares):
            done += len(reports)
            for report in reports:
                met += report.met
                if report.wrong:
                    wrong += 1
                    if wrong <= MOST_SHOWN:
                        print(f"seed {report.seed} {dict(report.met)}: {'; '.join(report.wrong)[:1000]}")
                        print(
                            f"  again: python -m tests.simulation --part {asked.part} --seed {report.seed} --schedules 1",
                            flush=True,
                        )
    print(f"{done} schedules in {time.monotonic() - started:.0f} s, {met.total()} faults, {wrong} broke a law")
    for fault, times in met.most_common():
        print(f"{times:>9}  {fault}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
