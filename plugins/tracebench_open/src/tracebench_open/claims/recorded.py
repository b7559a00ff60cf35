"""A run that its author published whole, program by program: how many calls it took to a target, beside restarts that ask no model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from tracebench_open.claims.cage import Cage
from tracebench_open.claims.law import Found, Row, exactly, share
from tracebench_open.claims.packing import Certificate, certify
from tracebench_open.claims.packings import best_of, of_doubles
from tracebench_open.claims.trees import Trees

AT_ONCE = 100
"""Restarts of one process."""
_RESTARTS: dict[tuple[int, int], tuple[list[Certificate], float, dict[str, str]]] = {}


def best(trees: Trees, _: Cage, *, source: str, folder: str, metric: str) -> Found:
    """Return the best that the run's own judge wrote down, and when."""
    programs = _programs(trees, source, folder)
    return exactly(Fraction(max(_worth(one, metric) for one in programs)), rows=_steps(programs, metric))


def best_again(
    trees: Trees, cage: Cage, *, source: str, folder: str, metric: str, tolerance: str, seeds: int, function: str
) -> Found:
    """Run the program that the run's own judge liked best with so many seeds, and return the best packing that holds."""
    program = max(_programs(trees, source, folder), key=lambda one: _worth(one, metric))["code"]
    return best_of(program, cage, tolerance=Fraction(tolerance), seeds=range(seeds), function=function)


def calls_against_restarts(
    trees: Trees, cage: Cage, *, source: str, folder: str, metric: str, target: str, circles: int, restarts: int
) -> Found:
    """Return how many restarts a target takes on average, over the calls that the run took to it.

    The interval is that of the chance alone, as there is one run: above 1 the run needed fewer.
    """
    programs = _programs(trees, source, folder)
    wanted = Fraction(target)
    taken = next((i for i, one in enumerate(programs, 1) if _worth(one, metric) >= wanted), None)
    if taken is None:
        raise ValueError(f"the run never reached {target}")
    found, seconds, versions = _restarts(cage, circles, restarts)
    hits = sum(one.strict >= wanted for one in found)
    low, high = share(hits, len(found))
    ordered = sorted(float(one.strict) for one in found)
    told = [
        f"The run reached it with program {taken} of {len(programs)}, one call or more each.",
        f"{hits} of {len(found)} restarts reach it at tolerance 0, the best with {ordered[-1]:.9f}.",
        f"A restart takes {seconds / len(found):.2f} s of a processor.",
    ]
    rows: list[Row] = [
        {
            "target": level,
            "calls of the run": next(
                (i for i, one in enumerate(programs, 1) if _worth(one, metric) >= Fraction(level)), None
            ),
            "restarts that reach it": f"{sum(x >= float(level) for x in ordered)} of {len(found)}",
        }
        for level in ("2.5", "2.6", "2.61", "2.62", "2.63", target)
    ]
    worth = len(found) / hits / taken if hits else float("inf")
    return Found(worth, 1 / high / taken, 1 / low / taken if low else None, told=told, rows=rows, versions=versions)


def _programs(trees: Trees, source: str, folder: str) -> list[Any]:
    """Return every program of the run once, in the order in which they were written."""
    known: dict[str, Any] = {}
    for path, text in sorted(trees.folder(source, folder).items()):
        if "/programs/" in path and path.endswith(".json"):
            one = json.loads(text)
            known.setdefault(one["id"], one)
    return sorted(known.values(), key=lambda one: (one["timestamp"], one["id"]))


def _worth(program: Any, metric: str) -> float:
    found = program["metrics"]
    return float(found.get(metric) or 0.0) if found.get("validity") else 0.0


def _steps(programs: Sequence[Any], metric: str) -> list[Row]:
    rows: list[Row] = []
    most = 0.0
    for number, one in enumerate(programs, 1):
        if _worth(one, metric) > most:
            most = _worth(one, metric)
            rows.append({"program": number, "best so far": f"{most:.9f}"})
    return rows


def _restarts(cage: Cage, circles: int, restarts: int) -> tuple[list[Certificate], float, dict[str, str]]:
    key = (circles, restarts)
    if key not in _RESTARTS:
        found, seconds, versions = [], 0.0, {}
        for first in range(0, restarts, AT_ONCE):
            told = cage.run("restarts", {}, [circles, min(AT_ONCE, restarts - first)], seed=first, seconds=900)
            found += [certify(of_doubles(one)) for one in told["packings"]]
            seconds, versions = seconds + told["seconds"], told["versions"]
        _RESTARTS[key] = found, seconds, versions
    return _RESTARTS[key]
