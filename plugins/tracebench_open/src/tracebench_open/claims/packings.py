"""Published packings asked again: points that lie in a file, and programs that find them, at their authors' tolerance and at none."""

from __future__ import annotations

import ast
import csv
import json
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import cast

from tracebench_core.errors import TraceBenchError
from tracebench_open.claims.cage import Cage
from tracebench_open.claims.law import Found, Row, exactly, median, share
from tracebench_open.claims.packing import Certificate, certify
from tracebench_open.claims.trees import Trees

Circles = list[list[Fraction]]
LONGEST = 3600.0
"""Seconds of a processor that one draw may take."""


def of_notebook(trees: Trees, _: Cage, *, source: str, path: str, cell: int, tolerance: str) -> Found:
    """Judge the circles that a cell of a notebook assigns: as doubles, which is what its own check sees. Nothing of it is run."""
    tree = ast.parse(cell_of(trees.text(source, path), cell))
    calls = [node.value for node in tree.body if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)]
    if len(calls) != 1:
        raise TraceBenchError(f"Cell {cell} of `{path}` assigns no circles.")
    points: list[list[float]] = ast.literal_eval(calls[0].args[0])
    return judged(certify([[Fraction(x) for x in circle] for circle in points]), Fraction(tolerance))


def of_table(trees: Trees, _: Cage, *, source: str, path: str, tolerance: str) -> Found:
    """Judge the circles of a table with the columns x, y and radius: as the decimals that it has."""
    rows = csv.DictReader(trees.text(source, path).splitlines())
    return judged(
        certify([[Fraction(row[name]) for name in ("x", "y", "radius")] for row in rows]), Fraction(tolerance)
    )


def best_of_program(
    trees: Trees, cage: Cage, *, source: str, path: str, tolerance: str, seeds: int, function: str,
    first: int = 0, cells: Sequence[int] = (),
) -> Found:  # fmt: skip
    """Run a published program with so many seeds, and return the best packing that holds at a tolerance."""
    program = _program(trees, source, path, cells)
    draws = range(first, first + seeds)
    return best_of(program, cage, tolerance=Fraction(tolerance), seeds=draws, function=function)


def one_draw_of_program(
    trees: Trees, cage: Cage, *, source: str, path: str, tolerance: str, seeds: int, function: str
) -> Found:
    """Run a published program with so many seeds, and return the median of what a draw is worth: 0 where its packing does not hold."""
    allowed = Fraction(tolerance)
    found, versions = drawn(trees.text(source, path), cage, seeds=range(seeds), function=function)
    worth = [float(one.total) if one.holds(allowed) else 0.0 for one in found]
    return median(worth, told=[_said(found, allowed)], rows=summed(found, allowed), versions=versions)


def best_of(program: str, cage: Cage, *, tolerance: Fraction, seeds: range, function: str) -> Found:
    """Return the best packing of a program that holds; what further draws would give nobody knows, so that there is no upper end.

    At tolerance 0 a packing that does not hold as it is counts with the radii that its centres leave.
    """
    found, versions = drawn(program, cage, seeds=seeds, function=function)
    worth = [one.total for one in found if one.holds(tolerance)] if tolerance else [one.strict for one in found]
    best = max(worth, default=Fraction(0))
    return Found(best, best, None, told=[_said(found, tolerance)], rows=summed(found, tolerance), versions=versions)


_DRAWN: dict[tuple[str, str, range], tuple[list[Certificate], Mapping[str, str]]] = {}
"""By program, function and seeds, what was drawn in this process: several claims may be about the same draws."""


def drawn(program: str, cage: Cage, *, seeds: range, function: str) -> tuple[list[Certificate], Mapping[str, str]]:
    """Return the certificate of what a program packs, seed by seed."""
    if (program, function, seeds) not in _DRAWN:
        found, versions = [], {}
        for seed in seeds:
            told = cage.run("packing", {"program.py": program}, [function], seed=seed, seconds=LONGEST)
            found.append(certify(of_doubles(told["circles"])))
            versions = told["versions"]
        _DRAWN[program, function, seeds] = found, versions
    return _DRAWN[program, function, seeds]


def _program(trees: Trees, source: str, path: str, cells: Sequence[int]) -> str:
    text = trees.text(source, path)
    return "\n".join(cell_of(text, cell) for cell in cells) if cells else text


def judged(found: Certificate, tolerance: Fraction) -> Found:
    """Return the sum of a packing that holds at a tolerance; at 0, of the same centres where it does not hold as it is."""
    holds = found.holds(tolerance)
    worth = found.total if holds else found.strict
    how = "every inequality holds" if holds else "it does not hold as it is, so that every radius gave way"
    return exactly(
        worth,
        told=[
            f"{found.circles} circles, {math.comb(found.circles, 2)} pairs and {4 * found.circles} walls in rationals: {how}."
        ],
        rows=[_row("the published points", found, tolerance)],
    )


def of_doubles(circles: Sequence[Sequence[str]]) -> Circles:
    """Return circles from the hexadecimal digits of doubles, exactly."""
    return [[Fraction(float.fromhex(x)) for x in circle] for circle in circles]


def cell_of(notebook: str, cell: int) -> str:
    """Return the source of a cell."""
    return "".join(cast("list[str]", json.loads(notebook)["cells"][cell]["source"]))


def summed(found: Sequence[Certificate], tolerance: Fraction) -> list[Row]:
    """Return rows for the best draw that holds, the median one and the worst."""
    good = sorted((one for one in found if one.holds(tolerance)), key=lambda one: one.total) or [
        *sorted(found, key=lambda one: one.total)
    ]
    return [
        _row("best draw", good[-1], tolerance),
        _row("median draw", good[len(good) // 2], tolerance),
        _row("worst draw", good[0], tolerance),
    ]


def _row(name: str, one: Certificate, tolerance: Fraction) -> Row:
    return {
        "packing": name,
        "sum as it is": f"{float(one.total):.12f}",
        f"holds at {float(tolerance):g}": "yes" if one.holds(tolerance) else "no",
        "holds at 0": "yes" if one.holds(Fraction(0)) else "no",
        "worst violation": f"{float(max(one.overlap, one.outside)):.2g}",
        "sum at 0, same centres": f"{float(one.strict):.12f}",
    }


def _said(found: Sequence[Certificate], tolerance: Fraction) -> str:
    good = sum(one.holds(tolerance) for one in found)
    low, high = share(good, len(found))
    return f"{good} of {len(found)} draws hold at {float(tolerance):g} ({low:.0%} to {high:.0%} of all)."
