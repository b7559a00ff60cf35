"""A published solver timed beside its benchmark's own, in a process with a clock that the solvers themselves turn on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tracebench_open.claims import caged

TASK = """
class Doubled:
    def generate_problem(self, n, random_seed):
        return {"n": n, "seed": random_seed}
    def solve(self, problem):
        turn("own", OWN)
        return 2 * problem["seed"]
    def is_solution(self, problem, answer):
        return int(answer) == 2 * problem["seed"]
"""
PROGRAM = """
class Doubled:
    def is_solution(self, problem, answer):
        JUDGED
def run_solver(problem):
    turn("program", FAST)
    return 2 * problem["seed"]
"""
CLOCK = """
import builtins, sys, time
clock, calls = [0], {"own": 0, "program": 0}
def turn(whose, microseconds):
    clock[0] += microseconds
    calls[whose] += 1
builtins.turn, time.process_time = turn, lambda: clock[0] / 1e6
sys.argv = sys.argv[1:]
exec(compile(open(sys.argv[0]).read(), sys.argv[0], "exec"), {"__name__": "__main__"})
print(calls)
"""


def timed(folder: Path, own: int, fast: int, *, problems: int = 1, runs: int = 1, judged: str = "return True") -> Any:
    """Return what the script prints, and how often each solver was called."""
    (folder / "task.py").write_text(TASK.replace("OWN", str(own)))
    (folder / "program.py").write_text(PROGRAM.replace("FAST", str(fast)).replace("JUDGED", judged))
    script = Path(str(caged.__path__[0]), "speedup.py")
    command = [sys.executable, "-c", CLOCK, str(script), "11", "Doubled", "5", str(problems), str(runs)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    *_, told, calls = done.stdout.splitlines()
    return json.loads(told), json.loads(calls.replace("'", '"'))


@pytest.mark.parametrize(
    ("microseconds", "at_once"), [(30_000, 1), (25_000, 1), (19_000, 2), (6_000, 4), (3_000, 8), (100, 256)]
)
def test_a_timing_takes_twice_the_calls_until_it_takes_long_enough(
    tmp_path: Path, microseconds: int, at_once: int
) -> None:
    told, calls = timed(tmp_path, microseconds, 25_000, runs=3)
    assert calls["own"] == 2 * at_once - 1 + 3 * at_once  # once, twice, four times…, then three times so many
    assert calls["program"] == 1 + 1 + 3  # the answer first
    [row] = told["rows"]
    assert row["reference"] == pytest.approx(microseconds / 1e6)
    assert row["program"] == pytest.approx(0.025)
    assert (row["valid"], row["own"]) == (True, True)


def test_each_problem_is_another_and_a_judge_that_fails_accepts_nothing(tmp_path: Path) -> None:
    told, _ = timed(tmp_path, 25_000, 40_000, problems=3, judged="raise ValueError(problem)")
    assert [(row["valid"], row["own"]) for row in told["rows"]] == [(True, False)] * 3
    assert {*told["versions"]} == {"numpy", "scipy"}
