"""Print published heuristics' published figures beside what they reach here: do the evaluators measure what the papers measure?

    python benchmarks/llm4ad_published.py [--slow] [--only bin_packing] > table.md

The rows are `llm4ad.yaml` of `tracebench_llm4ad.published`; the programs beside it are written from their papers' descriptions. Exits 1
when a figure disagrees.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from tracebench_core.specs import Split
from tracebench_engine import api
from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.published import published_program


class Row(BaseModel):
    """One published heuristic on one set of instances."""

    model_config = ConfigDict(extra="forbid")

    heuristic: str
    instances: str
    task: str
    program: str = ""
    split: Split = "test"
    eval_kwargs: dict[str, Any] = {}
    metric: str
    optimum: float | None = None
    published: float
    within: float = 0.0
    at_most: bool = False
    at_least: bool = False
    source: str
    slow: bool = False
    calibrates: bool = False

    @property
    def name(self) -> str:
        """The task's name in the catalogue."""
        return self.task.partition(":")[2]

    def source_text(self) -> str:
        """Return the program."""
        return published_program(self.program) if self.program else load_baseline(self.name)

    def agrees(self, ours: float) -> bool:
        """Say whether a figure agrees with the published one."""
        if self.at_most:
            return ours <= self.published
        if self.at_least:
            return ours >= self.published
        return abs(ours - self.published) <= self.within + 1e-9

    def measure(self) -> float:
        """Return the figure here."""
        feedbacks = api.evaluate_task(
            self.task, {"program": self.source_text()}, split=self.split, eval_kwargs=self.eval_kwargs
        )
        if failed := [feedback for feedback in feedbacks if feedback.status != "ok"]:
            raise SystemExit(f"{self.heuristic} on {self.instances}: {failed[0].text}")
        reached = fmean(feedback.metrics[self.metric] for feedback in feedbacks)
        return reached if self.optimum is None else 100 * (reached / self.optimum - 1)

    @property
    def figure(self) -> str:
        """Name the figure."""
        return self.metric if self.optimum is None else f"{self.metric}, % above the optimum"


def read_rows() -> list[Row]:
    """Return the rows of the file."""
    return [Row(**row) for row in yaml.safe_load(published_program("llm4ad.yaml"))]


def print_table(rows: Sequence[Row], *, show: Callable[[str], None]) -> bool:
    """Measure and show each row; return whether all agree."""
    show("| heuristic | instances | figure | published | ours | asked | agrees | seconds | source |")
    show("|---|---|---|---|---|---|---|---|---|")
    agreed = True
    for row in rows:
        started = time.perf_counter()
        ours = row.measure()
        agreed &= row.agrees(ours)
        rule = "at most" if row.at_most else "at least" if row.at_least else ""
        told = "yes" if row.agrees(ours) else "**no**"
        rule = rule or (f"± {row.within:g}" if row.within else "equal")
        seconds = f"{time.perf_counter() - started:.1f}"
        cells = [
            row.heuristic,
            row.instances,
            row.figure,
            f"{row.published:.6g}",
            f"{ours:.6g}",
            rule,
            told,
            seconds,
            row.source,
        ]
        show(f"| {' | '.join(cells)} |")
    return agreed


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slow", action="store_true", help="also the rows that take minutes")
    parser.add_argument("--only", default="", help="only rows whose task or heuristic contains this")
    wanted = parser.parse_args()
    rows = [row for row in read_rows() if wanted.slow or not row.slow]
    chosen = [row for row in rows if wanted.only.casefold() in f"{row.task} {row.heuristic} {row.instances}".casefold()]
    if not print_table(chosen, show=lambda line: print(line, flush=True)):
        sys.exit(1)


if __name__ == "__main__":
    main()
