"""Pack n circles of free radius into the unit square for the largest sum of radii: sequential linear programming and basin hopping.

    python benchmarks/circle_packing_solver.py 26 --seconds 300 --out packings.json

Prints every improvement and writes `{"<n>": [[x, y, r], …]}`, merged into an existing file where it is better. The written packing is
feasible in floating point: radii are shrunk until no pair overlaps and none leaves the square.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
"""HiGHS' tightest; by default it lets circles overlap by 1e-7."""


def start(n: int, rng: np.random.Generator) -> np.ndarray:
    """Return centres of a jittered lattice with holes, or uniform ones."""
    if rng.random() < 0.3:
        centres = rng.random((n, 2))
    else:
        side = int(np.ceil(np.sqrt(n)))
        grid = np.stack(np.meshgrid(*[(np.arange(side) + 0.5) / side] * 2), -1).reshape(-1, 2)
        if rng.random() < 0.5:
            grid[:, 0] += np.where(np.round(grid[:, 1] * side - 0.5) % 2, 0.25, -0.25) / side
        centres = grid[rng.permutation(len(grid))[:n]] + rng.normal(0, rng.uniform(0.01, 0.08), (n, 2))
    return np.clip(centres, 0.03, 0.97)


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


def climb(centres: np.ndarray, *, finest: float = 1e-4) -> np.ndarray:
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


def shake(packing: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the packing's centres, jittered, with up to three circles thrown elsewhere, small ones most likely."""
    n = len(packing)
    centres = packing[:, :2] + rng.normal(0, rng.choice([0.002, 0.01, 0.03]), (n, 2))
    chances = 1 / (packing[:, 2] + 0.02)
    moved = rng.choice(n, rng.integers(0, 4), replace=False, p=chances / chances.sum())
    centres[moved] = rng.random((len(moved), 2))
    return np.clip(centres, 0.03, 0.97)


def main() -> None:
    """Search by basin hopping with restarts, and keep the best packing of each n."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int, nargs="+")
    parser.add_argument("--seconds", type=float, default=300, help="for each n")
    parser.add_argument("--patience", type=int, default=40, help="shakes without a gain before a restart")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    for n in arguments.n:
        rng = np.random.default_rng([arguments.seed, n])
        ends = time.monotonic() + arguments.seconds
        current, idle = climb(start(n, rng)), 0
        while time.monotonic() < ends:
            trial = climb(shake(current, rng) if idle < arguments.patience else start(n, rng))
            if idle >= arguments.patience or trial[:, 2].sum() > current[:, 2].sum() + 1e-6:
                current, idle = trial, 0
                keep(n, current, arguments.out)
            else:
                idle += 1


def keep(n: int, packing: np.ndarray, path: Path) -> None:
    """Polish the packing where it comes near the file's, and write it where it beats it."""
    known = json.loads(path.read_text()) if path.exists() else {}
    best = sum(circle[2] for circle in known.get(str(n), []))
    if packing[:, 2].sum() > best - 1e-3:
        packing = climb(packing[:, :2], finest=1e-10)
        if packing[:, 2].sum() > best + 1e-13:
            known[str(n)] = packing.tolist()
            path.write_text(json.dumps(known) + "\n")
            print(f"n={n} sum of radii={packing[:, 2].sum():.12f}", flush=True)


if __name__ == "__main__":
    main()
