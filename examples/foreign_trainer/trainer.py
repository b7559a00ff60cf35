"""Hill climbing in an environment of its own, with its own numpy where it has one: `trace-bench` is not installed here.

Started by the trainer `Command`; see `config.yaml` beside this file.
"""

import sys

import tracebench_client

try:
    import numpy as np
except ImportError:
    np = None

problem = tracebench_client.connect()
print(f"python {sys.version.split()[0]}, numpy {np.__version__ if np else 'absent'}", flush=True)


def neighbours(values, scale, count):
    """Return `count` copies of `values` with every number moved by a normal step."""
    if np is None:
        return [{name: value + problem.rng.gauss(0, scale) for name, value in values.items()} for _ in range(count)]
    steps = np.random.default_rng(problem.rng.randrange(2**32)).normal(scale=scale, size=(count, len(values)))
    return [dict(zip(values, np.array(list(values.values())) + step)) for step in steps]


problem.evaluate(problem.initial, origin="initial")
scale = 2.0
while True:  # the budget ends it
    with problem.step():
        best = problem.best()
        evaluations = problem.evaluate_many(neighbours(best.values, scale, 4), parents=[best], origin="normal step")
        improved = problem.best().id != best.id
        for evaluation in evaluations:
            problem.decide(
                evaluation.candidate, "accepted" if evaluation.candidate == problem.best().id else "rejected"
            )
        scale *= 1.5 if improved else 0.7
        problem.log("scale", scale)
