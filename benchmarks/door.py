"""What an evaluation through the door costs beside one in the trainer's own process: `python benchmarks/door.py`."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from tracebench_core.contracts import Problem
from tracebench_engine.builtin.command import Command, CommandSettings
from tracebench_testing import run_trial
from tracebench_testing.toys import build_number

EVALUATIONS = 2_000
PROGRAM = f"""
import time, tracebench_client
problem = tracebench_client.connect()
example = problem.train[:1]
seconds = []
for n in range({EVALUATIONS}):
    begun = time.perf_counter()
    problem.evaluate({{name: float(n) for name in problem.initial}}, example)
    seconds.append(time.perf_counter() - begun)
print(sorted(seconds)[len(seconds) // 2] * 1000, file=open("milliseconds", "w"))
"""


class Inside:
    """Evaluates in the trainer's own process."""

    milliseconds = 0.0

    def train(self, problem: Problem) -> None:
        """Measure the median of one example."""
        example = problem.train[:1]

        def one(n: int) -> float:
            begun = time.perf_counter()
            problem.evaluate({name: float(n) for name in problem.initial}, example)
            return time.perf_counter() - begun

        self.milliseconds = median(one(n) for n in range(EVALUATIONS)) * 1000


def through_the_door(answer: Callable[[str, int], str]) -> float:
    """Return the median milliseconds of one example, as the program sees it."""
    with tempfile.TemporaryDirectory() as folder:
        settings = CommandSettings(argv=(sys.executable, "-c", PROGRAM), cwd=folder)
        trial = run_trial(Command(settings), build_number(), answer=answer)
        if trial.error is not None:
            raise trial.error
        return float((Path(folder) / "milliseconds").read_text())


def main() -> None:
    """Print both, and the difference."""
    inside = Inside()
    run_trial(inside, build_number(), answer=lambda *_: "")
    outside = through_the_door(lambda *_: "")
    print(
        f"one evaluation: {inside.milliseconds:.3f} ms in process, {outside:.3f} ms through the door: "
        f"{outside - inside.milliseconds:.3f} ms for the call; target 0.5 ms"
    )


if __name__ == "__main__":
    main()
