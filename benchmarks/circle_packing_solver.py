"""Pack n circles of free radius into the unit square for the largest sum of radii: SLSQP from many starts.

    python benchmarks/circle_packing_solver.py 26 --starts 400 --out packings.json

Prints every improvement and writes `{"<n>": [[x, y, r], …]}`, merged into an existing file where it is better. The written packing is
feasible in floating point: radii are shrunk until no pair overlaps and none leaves the square.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from scipy.optimize import linprog, minimize


def constraints(n: int):
    """Return the non-negative constraint function of the packing and its Jacobian, for variables (x…, y…, r…)."""
    i, j = np.triu_indices(n, 1)
    rows = np.arange(len(i))
    eye = np.eye(n)
    zero = np.zeros((n, n))
    walls = np.vstack([np.hstack(b) for b in ((eye, zero, -eye), (-eye, zero, -eye), (zero, eye, -eye), (zero, -eye, -eye))])
    offset = np.concatenate([np.zeros(n), np.ones(n), np.zeros(n), np.ones(n)])

    def value(v):
        x, y, r = v.reshape(3, n)
        gaps = (x[i] - x[j]) ** 2 + (y[i] - y[j]) ** 2 - (r[i] + r[j]) ** 2
        return np.concatenate([gaps, walls @ v + offset])

    def jacobian(v):
        x, y, r = v.reshape(3, n)
        top = np.zeros((len(i), 3 * n))
        top[rows, i], top[rows, j] = 2 * (x[i] - x[j]), -2 * (x[i] - x[j])
        top[rows, n + i], top[rows, n + j] = 2 * (y[i] - y[j]), -2 * (y[i] - y[j])
        top[rows, 2 * n + i] = top[rows, 2 * n + j] = -2 * (r[i] + r[j])
        return np.vstack([top, walls])

    return value, jacobian


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
    return linprog(-np.ones(n), A_ub=pairs, b_ub=gaps, bounds=[(0, w) for w in room]).x


def feasible(centres: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Return the packing with radii shrunk until it holds exactly in floating point."""
    i, j = np.triu_indices(len(radii), 1)
    room = np.minimum(centres, 1 - centres).min(axis=1)
    radii = np.maximum(radii, 0.0)
    while (radii > room).any() or (radii[i] + radii[j] > np.hypot(*(centres[i] - centres[j]).T)).any():
        radii = np.maximum(radii - 1e-14, 0.0)
    return np.column_stack([centres, radii])


def solve(n: int, rng: np.random.Generator, *, around: np.ndarray | None = None) -> np.ndarray:
    """Return one locally best packing, shape (n, 3), from a random start or from a shaken packing."""
    if around is None:
        centres = start(n, rng)
    else:
        centres = around[:, :2] + rng.normal(0, 0.01, (n, 2))
        moved = rng.permutation(n)[: rng.integers(1, 4)]
        centres[moved] = rng.random((len(moved), 2))
        centres = np.clip(centres, 0.03, 0.97)
    value, jacobian = constraints(n)
    gradient = np.concatenate([np.zeros(2 * n), -np.ones(n)])
    result = minimize(
        lambda v: -v[2 * n :].sum(),
        np.concatenate([centres[:, 0], centres[:, 1], best_radii(centres) * 0.99]),
        jac=lambda _: gradient,
        constraints=[{"type": "ineq", "fun": value, "jac": jacobian}],
        bounds=[(0, 1)] * (2 * n) + [(0, 0.5)] * n,
        method="SLSQP",
        options={"maxiter": 200, "ftol": 1e-12},
    )
    centres = np.clip(result.x[: 2 * n].reshape(2, n).T, 0, 1)
    return feasible(centres, best_radii(centres))


def main() -> None:
    """Search and keep the best packing of each n."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("n", type=int, nargs="+")
    parser.add_argument("--starts", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    for n in arguments.n:
        rng = np.random.default_rng([arguments.seed, n])
        known = json.loads(arguments.out.read_text()) if arguments.out.exists() else {}
        best = np.array(known[str(n)]) if str(n) in known else None
        for k in range(arguments.starts):
            packing = solve(n, rng, around=best if best is not None and rng.random() < 0.4 else None)
            if best is None or packing[:, 2].sum() > best[:, 2].sum() + 1e-12:
                best = packing
                print(f"n={n} start={k} sum of radii={best[:, 2].sum():.12f}", flush=True)
                known[str(n)] = best.tolist()
                arguments.out.write_text(json.dumps(known, indent=1) + "\n")


if __name__ == "__main__":
    main()
