"""This bench and the one it came from, command by command in turn: `python benchmarks/upstream.py CLONE PYTHON [--pairs N]`.

CLONE is a clone of that repository (https://github.com/AgentOpt/Trace-Bench), PYTHON an interpreter that has it and OpenTrace: its command
is taken from beside it. Each row is one command of each, in turn, whole processes, after one that does not count. It gives the median of
both, and the median, least and greatest of the pairs' ratios, by the clock and of the processors of all descendants. Upstream's jobs are
threads of one process that have no budget of their own and no record that outlives a crash; how many of them ended well is told.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from descendants import Used, watch

OURS = str(Path(sys.executable).with_name("trace-bench"))
MATRIX = """
mode: stub
seeds: [{seeds}]
max_workers: {workers}
tasks: [{{id: "internal:numeric_param"}}]
trainers:
  - id: PrioritySearch
    params_variants: [{{ps_steps: 1, ps_batches: 1}}]
"""
FEW, MANY = 100, 400
"""Jobs of the two sizes of which the price of one more job follows."""


@dataclass(frozen=True, slots=True)
class Row:
    """One command of both."""

    name: str
    words: tuple[str, ...]
    pairs: int | None = None
    """How many pairs of a row that takes long; else as many as were asked for."""
    is_kept: bool = True
    """Whether ours may take its listing from the cache."""


def main() -> None:
    """Measure row after row, and print."""
    asked = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    asked.add_argument("clone", type=Path)
    asked.add_argument("python", type=Path)
    asked.add_argument("--pairs", type=int, default=9)
    told = asked.parse_args()
    theirs = str(told.python.absolute().with_name("trace-bench"))
    with TemporaryDirectory() as name:
        folder = Path(name)
        for workers in (1, 4):
            for jobs in (FEW, MANY):
                config = MATRIX.format(seeds=", ".join(map(str, range(1, jobs + 1))), workers=workers)
                (folder / f"{jobs}-{workers}.yaml").write_text(config)
        rows = [
            Row("`--help`", ("--help",)),
            Row("`list-tasks`, kept", ("list-tasks",)),
            Row("`list-tasks`, nothing kept", ("list-tasks",), is_kept=False),
            Row("a smoke run", ("run", "--config", str(told.clone.absolute() / "configs" / "smoke.yaml"))),
            *(Row(_title(n, w), ("run", "--config", str(folder / f"{n}-{w}.yaml")), 3) for w in (4, 1) for n in (FEW, MANY)),
        ]  # fmt: skip
        print(
            "| command | upstream | ours | ratio by the clock | ratio of processors | jobs that ended well |\n|---|---|---|---|---|---|"
        )
        seen = {row.name: measure(row, theirs, told.clone.absolute(), folder, row.pairs or told.pairs) for row in rows}
    for workers in (4, 1):
        few, many = (seen[_title(jobs, workers)] for jobs in (FEW, MANY))
        further = [
            [1000 * (b.wall - a.wall) / (MANY - FEW) for a, b in zip(*sides, strict=True)]
            for sides in zip(few, many, strict=True)
        ]
        ratios = [ours / theirs for theirs, ours in zip(*further, strict=True)]
        print(
            f"| a further job, {_workers(workers)} | {median(further[0]):.0f} ms | {median(further[1]):.0f} ms | {_spread(ratios)} | | |"
        )


def measure(row: Row, theirs: str, clone: Path, folder: Path, pairs: int) -> tuple[list[Used], list[Used]]:
    """Run both in turn, print a row of the table, and return what each used."""
    sides: tuple[list[Used], list[Used]] = ([], [])
    ended: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
    for number in range(-1, pairs):
        for side, command in enumerate((theirs, OURS)):
            runs = folder / f"{number}-{side}-{len([*folder.iterdir()])}"
            words = [command, *row.words, *(["--runs-dir", str(runs)] if row.words[0] == "run" else [])]
            environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
            environ["XDG_CACHE_HOME"] = str(folder / ("kept" if row.is_kept else f"cache-{number}"))
            used = watch(*words, folder=str(clone if side == 0 else folder), environ=environ)
            if used.code and row.words[0] != "run":
                raise SystemExit(f"{' '.join(words)} ended with {used.code}")
            if number >= 0:
                sides[side].append(used)
                ended[side].update(statuses(runs))
    wall = [ours.wall / upstream.wall for upstream, ours in zip(*sides, strict=True)]
    cpu = [ours.cpu / upstream.cpu for upstream, ours in zip(*sides, strict=True)]
    medians = [f"{median(one.wall for one in side):.2f} s" for side in sides]
    well = [f"{ended[side]['ok']} of {sum(ended[side].values())}" if ended[side] else "" for side in (0, 1)]
    jobs = f"{well[0]}; {well[1]}" if any(well) else ""
    print(f"| {row.name} | {medians[0]} | {medians[1]} | {_spread(wall)} | {_spread(cpu)} | {jobs} |", flush=True)
    return sides


def statuses(runs: Path) -> list[str]:
    """Return the status of each job under a folder of runs; both benches write `results.csv`."""
    return [job["status"] for path in runs.glob("*/results.csv") for job in csv.DictReader(path.open(encoding="utf-8"))]


def _title(jobs: int, workers: int) -> str:
    return f"{jobs} jobs of PrioritySearch, {_workers(workers)}"


def _workers(number: int) -> str:
    return f"{number} worker{'s' if number > 1 else ''}"


def _spread(ratios: list[float]) -> str:
    return f"{median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


if __name__ == "__main__":
    main()
