"""Circles of free radius in the unit square: the largest sum of radii."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracebench_llm4ad.basic.options import CirclePackingOptions
from tracebench_llm4ad.code_task import loader
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import Heuristic, ListedEvaluator, Verdict, invalid
from tracebench_llm4ad.returned import array

TOLERANCE = 1e-12
"""By which circles may overlap or leave the square: room for the rounding of a square root, for nothing else."""

BEST_KNOWN = {25: 2.587275055271, 26: 2.635983084917, 27: 2.685978684225, 32: 2.939572771206}
"""Sums that `benchmarks/circle_packing_solver.py` has reached."""

CONTACT = 1e-6
"""Gap below which feedback speaks of a contact."""

PROGRAM = '''
import numpy as np


def pack_circles(n: int) -> np.ndarray:
    """Put a centre in the middle and the others on two rings; let every circle grow to half the way to its nearest neighbour."""
    inner, outer, inner_share = 0.25, 0.47, 0.35
    m = int(inner_share * (n - 1))
    rings = [(inner, 0.0, m), (outer, 0.1, n - 1 - m)]
    centres = [(0.5, 0.5)]
    for distance, turn, count in rings:
        for k in range(count):
            angle = 2 * np.pi * k / count + turn
            centres.append((0.5 + distance * np.cos(angle), 0.5 + distance * np.sin(angle)))
    centres = np.clip(np.array(centres), 0.0, 1.0)
    gaps = np.hypot(*(centres[:, None] - centres).T)
    np.fill_diagonal(gaps, np.inf)
    walls = np.minimum(centres, 1 - centres).min(axis=1)
    return np.column_stack([centres, np.minimum(walls, gaps.min(axis=0) / 2)])
'''

OBJECTIVE = f"""
Design a program that packs n disjoint circles into the unit square [0, 1] x [0, 1] so that the sum of their radii is as large as \
possible. The radii are free and may differ.
`pack_circles(n)` is called once.
- `n` (int): the number of circles; 26 during the search. Other numbers near it are held out, so a program should work for any n.
Return an array (or list of lists) of shape (n, 3): each row is a circle's centre x, centre y and radius r.
Every circle must lie in the square (r <= x <= 1 - r, r <= y <= 1 - r), no radius may be negative, and the distance of any two centres \
must be at least the sum of their radii. Violations above {TOLERANCE:g} are refused: after a numerical optimisation, shrink the radii a \
little.
Score: the sum of the n radii; higher is better. For n = 26 the best known sum is about 2.636.
"""


class CirclePackingEvaluator(ListedEvaluator[int]):
    """An instance is the number of circles; a solution is the array of circles."""

    name = "circle_packing"
    entry = "pack_circles"
    program = PROGRAM
    objective = OBJECTIVE
    bound_source = "the best known sum (for other n than 25, 26, 27 and 32 the area bound)"

    def __init__(self, options: CirclePackingOptions) -> None:
        super().__init__(options.splits(), timeout_seconds=options.timeout_seconds)

    def solve(self, instance: int, heuristic: Heuristic) -> Any:
        """Ask for the packing."""
        return array(heuristic(instance), shape=(instance, 3), what="circles (x, y, r)")

    def judge(self, instance: int, solution: Any) -> Verdict:
        """Check radii, walls and every pair; sum the radii."""
        circles = array(solution, shape=(instance, 3), what="circles (x, y, r)")
        x, y, r = circles.T
        if r.min() < 0:
            raise invalid(f"Circle {int(r.argmin())} has the negative radius {r.min()}.")
        outside = np.max([r - x, x + r - 1, r - y, y + r - 1], axis=0)
        if outside.max() > TOLERANCE:
            k = int(outside.argmax())
            raise invalid(
                f"Circle {k} at ({x[k]:.6g}, {y[k]:.6g}) with radius {r[k]:.6g} leaves the square by {outside[k]:.3g}."
            )
        slack = np.hypot(x[:, None] - x, y[:, None] - y) - (r[:, None] + r)
        np.fill_diagonal(slack, np.inf)
        if slack.min() < -TOLERANCE:
            i, j = (int(k) for k in np.unravel_index(int(slack.argmin()), slack.shape))
            pairs = int((slack < -TOLERANCE).sum()) // 2
            raise invalid(
                f"Circles {i} and {j} overlap by {-slack[i, j]:.3g} (distance {slack[i, j] + r[i] + r[j]:.6g}, radii {r[i]:.6g} and "
                f"{r[j]:.6g}); {pairs} of {instance * (instance - 1) // 2} pairs overlap."
            )
        contacts = int((slack < CONTACT).sum()) // 2 + int((outside > -CONTACT).sum())
        return Verdict(
            math.fsum(r),
            f"Radii run from {r.min():.4f} to {r.max():.4f} and cover {math.pi * float((r**2).sum()):.1%} of the square, with {contacts} "
            "contacts; smallest circle: "
            f"{int(r.argmin())} at ({x[r.argmin()]:.3f}, {y[r.argmin()]:.3f}).",
        )

    def draw(self, instance: int, solution: Any) -> Drawing:
        """Draw it."""
        return kinds.discs(solution)

    def bound(self, instance: int) -> float:
        """Return the best known sum; for other numbers the bound sqrt(n / pi), since the circles' areas sum to at most 1."""
        return BEST_KNOWN.get(instance, math.sqrt(instance / math.pi))


build = loader(CirclePackingEvaluator, CirclePackingOptions)
"""Build the task."""
