"""Pack n circles of free radius into the unit square for the largest sum of radii: basin hopping, then sequential linear programming.

    pip install "tracebench-llm4ad[numba]"
    python benchmarks/circle_packing_solver.py 25 26 27 32 --seconds 20 --out packings.json

Prints every improvement and writes `{"<n>": [[x, y, r], …]}`, merged into an existing file where it is better. The written packing is
feasible in floating point: radii are shrunk until no pair overlaps and none leaves the square.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from pathlib import Path

import numpy as np
from numba import njit
from scipy.optimize import linprog

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""HiGHS' tightest; by default it lets circles overlap by 1e-7."""
HARD = 400.0
"""The last price of a squared overlap: overlaps are below a thousandth then."""
HOPS = 1500
"""In a round, after which the best is polished."""


@njit(cache=True, fastmath=True)
def relax(z: np.ndarray, n: int, steps: int, soft: float, rate: float) -> float:
    """Move circles `z` (all x, all y, all r) to a soft optimum in place: Adam on the sum of radii less what overlaps cost.

    The price of a squared overlap rises from `soft` to `HARD`, the step falls from `rate` to a hundredth. Returns the objective.
    """
    mean, square, slope = np.zeros(3 * n), np.zeros(3 * n), np.zeros(3 * n)
    value = 0.0
    for step in range(steps):
        done = step / steps
        price = soft * (HARD / soft) ** min(1.0, 1.5 * done)
        value = z[2 * n :].sum()
        slope[:] = 0.0
        slope[2 * n :] = -1.0
        for i in range(n):
            radius = z[2 * n + i]
            for axis in (i, n + i):
                for over, sign in ((radius - z[axis], -1.0), (radius + z[axis] - 1.0, 1.0)):
                    if over > 0:
                        value -= price * over * over
                        slope[axis] += sign * 2 * price * over
                        slope[2 * n + i] += 2 * price * over
            if radius < 0:
                value -= price * radius * radius
                slope[2 * n + i] += 2 * price * radius
            for j in range(i + 1, n):
                reach = radius + z[2 * n + j]
                x, y = z[i] - z[j], z[n + i] - z[n + j]
                if reach > 0 and x * x + y * y < reach * reach:
                    distance = np.sqrt(x * x + y * y) + 1e-12
                    over = reach - distance
                    value -= price * over * over
                    push = 2 * price * over
                    slope[2 * n + i] += push
                    slope[2 * n + j] += push
                    slope[i] -= push * x / distance
                    slope[j] += push * x / distance
                    slope[n + i] -= push * y / distance
                    slope[n + j] += push * y / distance
        mean[:] = 0.9 * mean + 0.1 * slope
        square[:] = 0.99 * square + 0.01 * slope * slope
        root = np.sqrt(square / (1 - 0.99 ** (step + 1))) + 1e-9
        z -= rate * 0.01**done * (mean / (1 - 0.9 ** (step + 1))) / root
    return value


@njit(cache=True)
def hop(n: int, seed: int, hops: int, patience: int) -> np.ndarray:
    """Return the best circles that basin hopping meets: shake or throw some elsewhere, relax, keep what is better, restart when stuck."""
    np.random.seed(seed)
    best = value = -1.0
    found, present = np.zeros(3 * n), np.zeros(3 * n)
    idle = patience
    for _ in range(hops):
        fresh = idle >= patience
        z = present.copy()
        if fresh:
            z[: 2 * n] = np.random.random(2 * n)
            z[2 * n :] = 0.02
        else:
            kind = np.random.random()
            if kind < 0.4:
                z[: 2 * n] += (0.01, 0.03, 0.06)[np.random.randint(3)] * np.random.randn(2 * n)
            if kind > 0.3:
                for _ in range(np.random.randint(1, 4)):
                    small = np.argmin(z[2 * n :] + 0.03 * np.random.random(n))
                    k = small if np.random.random() < 0.5 else np.random.randint(n)
                    z[k], z[n + k], z[2 * n + k] = np.random.random(), np.random.random(), 0.005
        reached = relax(z, n, 1500, 3.0, 0.02) if fresh else relax(z, n, 1200, 20.0, 0.01)
        if fresh or reached > value + 1e-6:
            idle = 0 if fresh or reached > value + 2e-5 else idle
            value, present = reached, z
        else:
            idle += 1
        if reached > best:
            best, found = reached, z.copy()
    return found


def best_radii(centres: np.ndarray) -> np.ndarray:
    """Return the radii of largest sum for fixed centres (a linear program)."""
    n = len(centres)
    i, j = np.triu_indices(n, 1)
    pairs = np.zeros((len(i), n))
    pairs[np.arange(len(i)), i] = pairs[np.arange(len(i)), j] = 1
    gaps = np.hypot(*(centres[i] - centres[j]).T)
    room = np.minimum(centres, 1 - centres).min(axis=1)
    return linprog(-np.ones(n), A_ub=pairs, b_ub=gaps, bounds=[(0, w) for w in room], options=EXACT).x


def feasible(centres: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Return the packing with all radii less the largest violation, until it holds exactly in floating point."""
    i, j = np.triu_indices(len(radii), 1)
    room = np.minimum(centres, 1 - centres).min(axis=1)
    gaps = np.hypot(*(centres[i] - centres[j]).T)
    while (excess := max((radii - room).max(), (radii[i] + radii[j] - gaps).max())) > 0:
        radii = np.maximum(radii - excess - 1e-17, 0.0)
    return np.column_stack([centres, radii])


def climb(centres: np.ndarray, *, finest: float) -> np.ndarray:
    """Return the packing that sequential linear programming reaches: all of x, y, r at once, distances linearised, in a trust region.

    It ends when steps of `finest` gain nothing: the sum is then within about that of the local optimum, or with 1e-10, at it.
    """
    n = len(centres)
    i, j = np.triu_indices(n, 1)
    eye, zero = np.eye(n), np.zeros((n, n))
    walls = np.vstack(
        [np.hstack(b) for b in ((-eye, zero, eye), (eye, zero, eye), (zero, -eye, eye), (zero, eye, eye))]
    )
    objective = np.concatenate([np.zeros(2 * n), -np.ones(n)])
    total, step = best_radii(centres).sum(), 0.05
    while step > finest:
        difference = centres[i] - centres[j]
        distance = np.hypot(*difference.T)
        close = np.flatnonzero(distance < 0.6)
        ux, uy = (difference[close] / np.maximum(distance[close], 1e-12)[:, None]).T
        rows = np.arange(len(close))
        pairs = np.zeros((len(close), 3 * n))
        pairs[rows, i[close]], pairs[rows, j[close]] = -ux, ux
        pairs[rows, n + i[close]], pairs[rows, n + j[close]] = -uy, uy
        pairs[rows, 2 * n + i[close]] = pairs[rows, 2 * n + j[close]] = 1
        x, y = centres.T
        result = linprog(
            objective,
            A_ub=np.vstack([pairs, walls]),
            b_ub=np.concatenate([distance[close], x, 1 - x, y, 1 - y]),
            bounds=[(-step, step)] * (2 * n) + [(0, 0.5)] * n,
            options=EXACT,
        )
        moved = np.clip(centres + result.x[: 2 * n].reshape(2, n).T, 0, 1)
        reached = best_radii(moved).sum()
        if reached > total + 1e-13:
            step = step if reached > total + step / 100 else step / 3
            centres, total = moved, reached
        else:
            step /= 3
    return feasible(centres, best_radii(centres))


def main() -> None:
    """Hop in rounds, polish the best of each, and keep the best packing of each n."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int, nargs="+")
    parser.add_argument("--seconds", type=float, default=60, help="for each n")
    parser.add_argument("--patience", type=int, default=250, help="hops without a gain before a restart")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    for n in arguments.n:
        ends = time.monotonic() + arguments.seconds
        for seed in itertools.count(arguments.seed):
            circles = hop(n, seed, HOPS, arguments.patience)
            keep(n, np.clip(circles[: 2 * n].reshape(2, n).T, 0.01, 0.99), arguments.out)
            if time.monotonic() > ends:
                break


def keep(n: int, centres: np.ndarray, path: Path) -> None:
    """Polish a packing, and write it where it beats the file's."""
    known = json.loads(path.read_text()) if path.exists() else {}
    packing = climb(centres, finest=1e-10)
    if packing[:, 2].sum() > sum(circle[2] for circle in known.get(str(n), [])) + 1e-13:
        known[str(n)] = packing.tolist()
        path.write_text(json.dumps(known) + "\n")
        print(f"n={n} sum of radii={packing[:, 2].sum():.12f}", flush=True)


if __name__ == "__main__":
    main()
