"""Print published heuristics' published figures beside what they reach here: do the evaluators measure what the papers measure?

    python benchmarks/llm4ad_published.py [--slow] [--only bin_packing] [--data FOLDER] [--trees FOLDER] > table.md

The rows are `llm4ad.yaml` of `tracebench_llm4ad.published`; the programs beside it are written from their papers' descriptions. Rows of
OR-Library's and TSPLIB's files take them from `--data` (sub-folders `Bin packing - one-dimensional` and `TSPLIB`). Rows whose program lies
in another project's repository read it there, at the commit that they name: `--trees` is a folder of clones, `OWNER+NAME` each, which git
reads; nothing of them is copied. Rows of solvers want ortools and pyvrp installed. `--inside` runs our own programs in this process, by
the same simulations and verifiers, without the sandbox. What is left out for want of one of these is said on standard error. Exits 1 when
a figure disagrees.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from json import loads
from pathlib import Path
from statistics import fmean
from typing import Any

import yaml
from llm4ad_solvers import solution
from pydantic import BaseModel, ConfigDict

from tracebench_core.plugins import load_ref
from tracebench_core.specs import Split
from tracebench_engine import api
from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.catalog import BY_NAME
from tracebench_llm4ad.cobench.folder import VARIABLE
from tracebench_llm4ad.code_task import NUMPY_PRELUDE, seeding
from tracebench_llm4ad.heuristic import load_trusted
from tracebench_llm4ad.published import published_program

ADAPTERS = {
    "score": """

def priority(item, bins):
    scores = np.asarray(score(item, bins), dtype=float)  # there the greatest wins by argmax, for which nan is the greatest of all
    return np.where(np.isnan(scores), np.inf, np.minimum(scores, 1e308))
""",
    "cities": """

theirs = select_next_node

def select_next_node(current_node, destination_node, unvisited_nodes, distance_matrix):
    return theirs(current_node, destination_node, {int(city) for city in unvisited_nodes}, distance_matrix)
""",
    "items": """

theirs = select_next_item

def select_next_item(remaining_capacity, remaining_items):
    weights, values = (np.array([item[k] for item in remaining_items]) / 10_000 for k in (0, 1))
    return remaining_items[theirs(remaining_capacity / 10_000, weights, values)]
""",
}
"""What turns another project's function into the one that our task calls."""


class Tree(BaseModel):
    """A program in another project's repository: a Python file, or a population whose first member has it under `code`."""

    model_config = ConfigDict(extra="forbid")

    repository: str
    commit: str
    licence: str
    file: str
    adapter: str

    def clone(self, trees: Path) -> Path:
        """Return where the clone lies."""
        return trees / self.repository.replace("/", "+")

    def source_text(self, trees: Path) -> str:
        """Return the program with our adapter at its end."""
        folder = next(
            place
            for place in (self.clone(trees), self.clone(trees) / "repo")
            if (place / "HEAD").is_file() or (place / ".git").exists()
        )
        shown = ["git", "-C", str(folder), "show", f"{self.commit}:{self.file}"]
        text = subprocess.run(shown, check=True, capture_output=True, text=True).stdout
        return (loads(text)[0]["code"] if self.file.endswith(".json") else text) + ADAPTERS[self.adapter]


class Row(BaseModel):
    """One published heuristic on one set of instances."""

    model_config = ConfigDict(extra="forbid")

    heuristic: str
    instances: str
    task: str
    program: str = ""
    constants: dict[str, str | float] = {}
    tree: Tree | None = None
    solver: str = ""
    split: Split = "test"
    eval_kwargs: dict[str, Any] = {}
    largest: int = sys.maxsize
    metric: str
    unit: float = 1.0
    optimum: float | None = None
    over_best_known: bool = False
    over_bound: bool = False
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

    def wants(self, trees: Path | None, data: Path | None) -> str:
        """Say what is missing to compute the row; empty where nothing is."""
        if self.tree and (trees is None or not self.tree.clone(trees).is_dir()):
            return f"--trees with a clone of {self.tree.repository}"
        if self.solver and find_spec(self.solver) is None:
            return f"{self.solver} installed"
        if self.eval_kwargs.get("data") == "real" and data is None:
            return "--data"
        return ""

    def source_text(self, trees: Path | None) -> str:
        """Return the program."""
        if self.tree and trees:
            return self.tree.source_text(trees)
        text = published_program(self.program) if self.program else load_baseline(self.name)
        return text + "".join(f"\n{name} = {value!r}" for name, value in self.constants.items())

    def agrees(self, ours: float) -> bool:
        """Say whether a figure agrees with the published one."""
        if self.at_most:
            return ours <= self.published
        if self.at_least:
            return ours >= self.published
        return abs(ours - self.published) <= self.within + 1e-9

    def measure(self, trees: Path | None, *, inside: bool) -> float:
        """Return the figure here; `inside` runs a program of ours in this process."""
        if self.solver:
            return fmean(self._solved()) / self.unit
        if inside and not self.tree:
            return self._figure([*self._ran_inside(trees)])
        feedbacks = api.evaluate_task(
            self.task, {"program": self.source_text(trees)}, split=self.split, eval_kwargs=self.eval_kwargs
        )
        if failed := [feedback for feedback in feedbacks if feedback.status != "ok"]:
            raise SystemExit(f"{self.heuristic} on {self.instances}: {failed[0].text}")
        return self._figure([feedback.metrics for feedback in feedbacks])

    def _figure(self, reached: Sequence[Mapping[str, float]]) -> float:
        if self.over_best_known:
            return fmean(100 * (1 / metrics["co_bench"] - 1) for metrics in reached)
        value = fmean(metrics[self.metric] for metrics in reached) / self.unit
        return value if self.optimum is None else 100 * (value / self.optimum - 1)

    def _ran_inside(self, trees: Path | None) -> Iterator[Mapping[str, float]]:
        task = load_ref(BY_NAME[self.name].loader, owner=self.name)(**self.eval_kwargs)
        rules = task.evaluator
        for example in task.splits[self.split]:
            program = load_trusted(self.source_text(trees), rules.entry, prelude=NUMPY_PRELUDE + seeding(1, numpy=True))
            verdicts = [rules.judge(case.instance, rules.solve(case.instance, program)) for case in example.input]
            for verdict in verdicts:
                yield {**verdict.metrics, task.spec.metric: verdict.value}

    def _solved(self) -> Iterator[float]:
        task = load_ref(BY_NAME[self.name].loader, owner=self.name)(**self.eval_kwargs)
        for case in (case for example in task.splits[self.split] for case in example.input):
            if self.largest == sys.maxsize or len(case.instance.distance) <= self.largest:
                value = task.evaluator.judge(case.instance, solution(self.solver, case.instance)).value
                yield 100 * (value / task.evaluator.bound(case.instance) - 1) if self.over_bound else value

    @property
    def figure(self) -> str:
        """Name the figure."""
        above = {"over_best_known": ", % above the best known", "over_bound": ", % above the optimum"}
        told = next((words for name, words in above.items() if getattr(self, name)), "")
        return self.metric + (told if self.optimum is None else ", % above the optimum")


def read_rows() -> list[Row]:
    """Return the rows of the file."""
    return [Row(**row) for row in yaml.safe_load(published_program("llm4ad.yaml"))]


def print_table(rows: Sequence[Row], wanted: argparse.Namespace, *, show: Callable[[str], None]) -> bool:
    """Measure and show each row; return whether all agree."""
    show("| heuristic | instances | figure | published | ours | asked | agrees | seconds | source |")
    show("|---|---|---|---|---|---|---|---|---|")
    agreed = True
    for row in rows:
        started = time.perf_counter()
        os.environ.pop(VARIABLE, None)  # the other rows' tasks would look for their files there
        if wanted.data and row.eval_kwargs.get("data") == "real":
            os.environ[VARIABLE] = str(wanted.data.resolve())
        ours = row.measure(wanted.trees, inside=wanted.inside)
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
            row.source + (f"; {row.tree.repository}, {row.tree.licence}" if row.tree else ""),
        ]
        show(f"| {' | '.join(cells)} |")
    return agreed


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--slow", action="store_true", help="also the rows that take minutes")
    parser.add_argument("--only", default="", help="only rows whose task or heuristic contains this")
    parser.add_argument("--data", type=Path, help="a folder of OR-Library's and TSPLIB's files")
    parser.add_argument("--trees", type=Path, help="a folder of clones of other projects, OWNER+NAME each")
    parser.add_argument(
        "--inside", action="store_true", help="run our own programs in this process, without the sandbox"
    )
    parser.add_argument(
        "--skip", type=int, default=0, help="leave out this many of the chosen rows, to go on after a break"
    )
    wanted = parser.parse_args()
    rows = [row for row in read_rows() if wanted.slow or not row.slow]
    chosen = [row for row in rows if wanted.only.casefold() in f"{row.task} {row.heuristic} {row.instances}".casefold()]
    absent = [row for row in chosen if row.wants(wanted.trees, wanted.data)]
    for missing in sorted({row.wants(wanted.trees, wanted.data) for row in absent}):
        left_out = sum(row.wants(wanted.trees, wanted.data) == missing for row in absent)
        print(f"{left_out} rows are left out: they want {missing}", file=sys.stderr)
    ready = [row for row in chosen if row not in absent]
    if not print_table(ready[wanted.skip :], wanted, show=lambda line: print(line, flush=True)):
        sys.exit(1)


if __name__ == "__main__":
    main()
