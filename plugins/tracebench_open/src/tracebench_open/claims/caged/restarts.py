"""Runs in the cage: circles packed without any model, by descents from random starts. Prints all as hexadecimal doubles."""

import json
import sys
import time

import numpy as np
import scipy
from scipy.optimize import minimize

seed, n, times = map(int, sys.argv[1:4])
one, other = np.triu_indices(n, 1)
pairs, rows = len(one), np.arange(len(one))
began = time.process_time()


def room(v):
    """Return how far each wall and each pair is from being touched, 0 or more where a packing holds."""
    x, y, r = v[:n], v[n : 2 * n], v[2 * n :]
    far = np.hypot(x[one] - x[other], y[one] - y[other])
    return np.concatenate([x - r, 1 - x - r, y - r, 1 - y - r, far - r[one] - r[other]])


eye, none = np.eye(n), np.zeros((n, n))
walls = np.block([[eye, none, -eye], [-eye, none, -eye], [none, eye, -eye], [none, -eye, -eye]])


def slope(v):
    """Return the derivatives of `room`."""
    x, y = v[:n], v[n : 2 * n]
    dx, dy = x[one] - x[other], y[one] - y[other]
    far = np.maximum(np.hypot(dx, dy), 1e-12)
    found = np.zeros((pairs, 3 * n))
    found[rows, one], found[rows, other] = dx / far, -dx / far
    found[rows, n + one], found[rows, n + other] = dy / far, -dy / far
    found[rows, 2 * n + one] = found[rows, 2 * n + other] = -1
    return np.vstack([walls, found])


towards = np.concatenate([np.zeros(2 * n), -np.ones(n)])
packings = []
for number in range(seed, seed + times):
    rng = np.random.default_rng(number)
    end = minimize(
        lambda v: -v[2 * n :].sum(),
        np.concatenate([rng.uniform(0.05, 0.95, 2 * n), np.full(n, 0.05)]),
        jac=lambda _: towards,
        bounds=[(0, 1)] * (2 * n) + [(1e-4, 0.5)] * n,
        constraints={"type": "ineq", "fun": room, "jac": slope},
        method="SLSQP",
        options={"maxiter": 400, "ftol": 1e-10},
    ).x
    packings.append([[float(x).hex() for x in circle] for circle in end.reshape(3, n).T])
print(
    json.dumps(
        {
            "packings": packings,
            "seconds": time.process_time() - began,
            "versions": {"numpy": np.__version__, "scipy": scipy.__version__},
        }
    )
)
