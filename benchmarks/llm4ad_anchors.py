"""Print, for each algorithm-design task, what its starting program and a known heuristic reach, and the bound they are measured by.

    python benchmarks/llm4ad_anchors.py [--task tsp] [--split test] > table.md

Both programs run as any candidate does, in the sandbox, on all examples of the split. The seconds are those of the starting program.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tracebench_core.contracts import Sandbox
from tracebench_core.specs import TaskSpec
from tracebench_llm4ad.baselines import load_baseline
from tracebench_llm4ad.catalog import SPECS
from tracebench_llm4ad.code_task import PARAMETER, CodeTask, mean
from tracebench_sandbox import open_sandbox


@dataclass(frozen=True)
class Job:
    """The part of a job that these tasks use."""

    sandbox: Sandbox
    workdir: Path
    seed: int = 0

    def record(self, name: str, data: object) -> None:
        """Keep nothing."""


def measure(task: CodeTask, program: str, *, split: str, job: Job) -> dict[str, float]:
    """Return the mean metrics over a split, and the seconds that the program's runs took."""
    rows, spent = [], 0.0
    for example in task.splits[split]:
        started = time.perf_counter()
        output = task.run({PARAMETER: program}, example, job)
        spent += time.perf_counter() - started
        rows.append(task.guide(example, output, job).metrics)
    return {name: mean([row[name] for row in rows]) for name in rows[0]} | {"spent": spent}


def line(spec: TaskSpec, *, split: str, job: Job) -> str:
    """Return one row of the table."""
    if missing := [need for need in spec.requires if not find_spec(need.name)]:
        return f"| `{spec.name}` | needs `{missing[0].hint}` | | | | | |"
    module, _, attribute = spec.loader.partition(":")
    task = getattr(import_module(module), attribute)()
    start = measure(task, task.parameters[0].initial, split=split, job=job)
    try:
        known = measure(task, load_baseline(spec.name), split=split, job=job)
    except FileNotFoundError:
        known = None
    bound = mean([task.anchors(case).bound for example in task.splits[split] for case in example.input])
    cells = (
        [f"{known[spec.metric]:.6g}", f"{known['normalised']:.3f}" if "normalised" in known else "-"]
        if known
        else ["-", "-"]
    )
    arrow = "↑" if spec.direction == "maximize" else "↓"
    source = task.evaluator.bound_source.rstrip(",")
    return (
        f"| `{spec.name}` | {spec.metric} {arrow} | {start[spec.metric]:.6g} | {cells[0]} | {bound:.6g}: {source} | {cells[1]} | "
        f"{start['spent']:.2f} |"
    )


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="", help="only tasks whose name contains this")
    parser.add_argument("--split", default="test", choices=("train", "validation", "test"))
    arguments = parser.parse_args()
    print("| task | metric | start | known heuristic | best known or bound | heuristic, normalised | seconds |")
    print("|---|---|---|---|---|---|---|")
    with (
        tempfile.TemporaryDirectory() as folder,
        open_sandbox(preload=("math", "random", "numpy", "scipy.optimize")) as sandbox,
    ):
        for spec in SPECS:
            if arguments.task in spec.name and "co_bench" not in spec.groups:
                print(line(spec, split=arguments.split, job=Job(sandbox, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
