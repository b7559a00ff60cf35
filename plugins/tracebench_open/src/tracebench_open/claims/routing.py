"""A routing program that draws at random, run many times in its authors' simulator: one figure is one draw."""

from __future__ import annotations

import math
import statistics
import textwrap
from collections.abc import Mapping
from typing import Any

from tracebench_core.errors import TraceBenchError
from tracebench_open.claims.cage import Cage
from tracebench_open.claims.law import Found, Row, mean, share
from tracebench_open.claims.trees import Trees

MARK, FENCE = "**Optimized artifact**", "```"
MACHINES = 2
"""Virtual machines a region, as in the authors' evaluation."""


def saving(trees: Trees, cage: Cage, *, seeds: int, **where: Any) -> Found:
    """Return the mean saving over draws, in percent of what the baseline costs over all scenarios."""
    savings, each, versions = _savings(trees, cage, seeds=seeds, **where)
    told = [
        f"One draw saves {min(savings):.2f} to {max(savings):.2f} %; the standard deviation is {statistics.stdev(savings):.2f} points.",
        f"The mean of the scenarios' own savings, another reading of the claim, is {statistics.fmean(each):.2f} %.",
    ]
    return mean(savings, told=told, rows=_rows(savings), versions=versions)


def reached(trees: Trees, cage: Cage, *, seeds: int, figure: float, **where: Any) -> Found:
    """Return the share of draws that save at least so many percent, as it is rounded to one place."""
    savings, _, versions = _savings(trees, cage, seeds=seeds, **where)
    hits = sum(round(one, 1) >= figure for one in savings)
    low, high = share(hits, seeds)
    return Found(hits / seeds, low, high, told=[f"{hits} of {seeds} draws."], rows=_rows(savings), versions=versions)


def last_program(text: str) -> str:
    """Return the first block of code after the words that announce the optimised artefact."""
    _, found, rest = text.partition(MARK)
    lines = rest.splitlines()
    fences = [i for i, line in enumerate(lines) if line.strip().startswith(FENCE)]
    if not found or len(fences) < 2:  # noqa: PLR2004 - where it begins and where it ends
        raise TraceBenchError(f"No block of code follows `{MARK}`.")
    return textwrap.dedent("\n".join(lines[fences[0] + 1 : fences[1]])) + "\n"


_DRAWS: dict[tuple[str, int], tuple[list[float], list[float], Mapping[str, str]]] = {}
"""By program, what was drawn of it in this process: two claims may be about the same draws."""


def _savings(
    trees: Trees, cage: Cage, *, seeds: int, source: str, program: str, folder: str
) -> tuple[list[float], list[float], Mapping[str, str]]:
    text = last_program(trees.text(source, program))
    if (text, seeds) in _DRAWS:
        return _DRAWS[text, seeds]
    given = trees.texts(source, under=folder)
    scenarios = {
        f"scenarios/{path.rpartition('/')[2]}": data
        for path, data in given.items()
        if path.startswith(f"{folder}config/")
    }
    baseline = given[f"{folder}initial_program.py"]
    usual = cage.run("cloudcast", given | scenarios | {"program.py": baseline}, [MACHINES], seed=0)["costs"]
    whole, savings, each, versions = math.fsum(usual.values()), [], [], {}
    for seed in range(seeds):
        told = cage.run("cloudcast", given | scenarios | {"program.py": text}, [MACHINES], seed=seed)
        savings.append(100 * (1 - math.fsum(told["costs"].values()) / whole))
        each.append(statistics.fmean(100 * (1 - cost / usual[name]) for name, cost in told["costs"].items()))
        versions = told["versions"]
    _DRAWS[text, seeds] = savings, each, versions
    return _DRAWS[text, seeds]


def _rows(savings: list[float]) -> list[Row]:
    cut = statistics.quantiles(savings, n=4)
    names = {
        "least": min(savings),
        "first quartile": cut[0],
        "median": cut[1],
        "third quartile": cut[2],
        "most": max(savings),
    }
    return [{"draws": len(savings), **{name: f"{value:.2f} %" for name, value in names.items()}}]
