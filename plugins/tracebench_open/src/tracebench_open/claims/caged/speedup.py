"""Runs in the cage: a published solver beside its benchmark's own, on the same problems. Prints which answers are valid, and both times."""

import json
import random
import sys
import time
import types
from pathlib import Path

import numpy as np
import scipy

LEAST = 0.02
"""Seconds of a processor that a timing takes at the least."""


def loaded(name, path):
    """Return a module from a file of this folder."""
    module = types.ModuleType(name)
    sys.modules[name] = module
    exec(compile(Path(path).read_text(encoding="utf-8"), path, "exec"), module.__dict__)
    return module


def plain(value):
    """Return an answer with arrays of other libraries as numpy's."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(plain(one) for one in value)
    return np.asarray(value) if hasattr(value, "__array__") else value


def spent(solve, problem, calls):
    """Return the seconds of a processor that a call takes, the mean of some."""
    began = time.process_time()
    for _ in range(calls):
        plain(solve(problem))
    return (time.process_time() - began) / calls


def enough(solve, problem):
    """Return how many calls take so long that the clock's step does not matter."""
    calls = 1
    while spent(solve, problem, calls) * calls < LEAST:
        calls *= 2
    return calls


def accepted(judge, problem, answer):
    """Return whether a judge accepts an answer; one that fails on it does not."""
    try:
        return bool(judge(problem, answer))
    except Exception:
        return False


base = types.ModuleType(
    "AlgoTuneTasks.base"
)  # what the tasks import of their benchmark: the name of a class, and nothing else
base.register_task = lambda name: lambda kind: kind
base.Task = type("Task", (), {"__init__": lambda self, **options: None})
sys.modules["AlgoTuneTasks"] = types.ModuleType("AlgoTuneTasks")
sys.modules["AlgoTuneTasks.base"] = base

seed, name, size, problems, runs = int(sys.argv[1]), *sys.argv[2:3], *map(int, sys.argv[3:6])
task = getattr(loaded("task", "task.py"), name)()
program = loaded("program", "program.py")
own = getattr(program, name)()
rows = []
for number in range(problems):
    problem = task.generate_problem(n=size, random_seed=seed + number)
    random.seed(seed)
    np.random.seed(seed)
    answer = plain(program.run_solver(problem))
    each = enough(task.solve, problem), enough(program.run_solver, problem)
    times = [(spent(task.solve, problem, each[0]), spent(program.run_solver, problem, each[1])) for _ in range(runs)]
    rows.append(
        {
            "valid": accepted(task.is_solution, problem, answer),
            "own": accepted(own.is_solution, problem, answer),
            "reference": min(t for t, _ in times),
            "program": min(t for _, t in times),
        }
    )
versions = {"numpy": np.__version__, "scipy": scipy.__version__}
if "jax" in sys.modules:
    versions["jax"] = sys.modules["jax"].__version__
print()
print(json.dumps({"rows": rows, "versions": versions}))
