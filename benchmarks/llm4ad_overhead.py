"""Print what the sandbox adds to an example of each algorithm-design task, in milliseconds.

    python benchmarks/llm4ad_overhead.py [--task tsp] [--rounds 5]

The starting program runs on the first example to train on, in turn in the sandbox as any candidate does and as a trusted function in this
process; each figure is the median over the rounds, and the ratio that of a round. The last lines are the medians over the tasks.
`processes` are those that an example starts and locks down, `calls` the round trips to them: what the sandbox adds is so much for each of
either, and more on a busy machine.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from llm4ad_anchors import Job

from tracebench_core.contracts import Sandbox, Session
from tracebench_core.specs import Outcome, TaskSpec
from tracebench_llm4ad.catalog import SPECS
from tracebench_llm4ad.code_task import NUMPY_PRELUDE, PARAMETER, CodeTask
from tracebench_llm4ad.heuristic import load_trusted
from tracebench_llm4ad.science.equation_task import EquationTask
from tracebench_sandbox import open_sandbox


class Counting:
    """A sandbox that counts its processes and the calls to them."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.processes = self.calls = 0

    def session(self, *args: Any, **named: Any) -> Session:
        """Open a session that is counted."""
        session = self._sandbox.session(*args, **named)
        call = session.call

        def counted(*arguments: Any, **more: Any) -> Outcome:
            self.calls += 1
            return call(*arguments, **more)

        self.processes += 1
        session.call = counted
        return session


def here(task: CodeTask) -> None:
    """Run the starting program on the example in this process."""
    rules = task.evaluator
    for case in task.splits["train"][0].input:
        start = load_trusted(rules.program, rules.entry, prelude=NUMPY_PRELUDE)
        if isinstance(task, EquationTask):
            task.evaluator.trusted(start, case.instance)
        else:
            rules.solve(case.instance, start)


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def measure(spec: TaskSpec, job: Job, *, rounds: int) -> tuple[float, float, float, Counting]:
    """Return the median seconds in the sandbox and in this process, their median ratio, and what a run in the sandbox counts."""
    module, _, attribute = spec.loader.partition(":")
    task: CodeTask = getattr(import_module(module), attribute)()
    values = {PARAMETER: task.parameters[0].initial}
    example = task.splits["train"][0]
    pairs = [(seconds(lambda: task.run(values, example, job)), seconds(lambda: here(task))) for _ in range(rounds + 1)][
        1:
    ]
    counting = Counting(job.sandbox)
    task.run(values, example, replace(job, sandbox=counting))
    inside, trusted = zip(*pairs, strict=True)
    ratio = statistics.median(one / other for one, other in pairs)
    return statistics.median(inside), statistics.median(trusted), ratio, counting


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", default="", help="only tasks whose name contains this")
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args()
    print(
        "| task | in the sandbox, ms | in this process, ms | more, ms | ratio | processes | calls |\n|---|---|---|---|---|---|---|"
    )
    added, ratios = [], []
    with (
        tempfile.TemporaryDirectory() as folder,
        open_sandbox(preload=("math", "random", "numpy", "scipy.optimize")) as sandbox,
    ):
        for spec in SPECS:
            if wanted.task not in spec.name or "co_bench" in spec.groups:
                continue
            if any(not find_spec(need.name) for need in spec.requires):
                print(f"| `{spec.name}` | needs `{spec.requires[0].hint}` | | | | |", flush=True)
                continue
            inside, trusted, ratio, counted = measure(spec, Job(sandbox, Path(folder)), rounds=wanted.rounds)
            added.append(inside - trusted)
            ratios.append(ratio)
            cells = " | ".join(f"{1000 * value:.1f}" for value in (inside, trusted, inside - trusted))
            print(f"| `{spec.name}` | {cells} | {ratio:.1f} | {counted.processes} | {counted.calls} |", flush=True)
    if added:
        print(
            f"\nMedian over {len(added)} tasks: {1000 * statistics.median(added):.1f} ms more, {statistics.median(ratios):.1f} times."
        )
        print(f"{sum(ratio <= 4 for ratio in ratios)} of {len(ratios)} take at most four times.")


if __name__ == "__main__":
    main()
