"""Behaviour descriptors: a few numbers that say what kind of candidate one is, and the cells of a grid over them (MAP-Elites)."""

from __future__ import annotations

import ast
import math
from collections.abc import Sequence
from statistics import fmean

from tracebench_core.ids import canonical_json
from tracebench_core.specs import Parameter
from tracebench_opto.parts.archive import Entry

Point = tuple[float, ...]
CODE = ("length", "branches", "depth")
"""Features of code: characters on a logarithmic scale, decisions and loops, nesting of its syntax tree."""


def default_descriptors(parameters: Sequence[Parameter], metrics: Sequence[str]) -> tuple[str, ...]:
    """Return what fits a task: its objectives' metrics where it declares two or more, else features of code, lengths,
    or the first numbers."""
    if len(metrics) > 1:
        return tuple(f"metric:{name}" for name in metrics[:3])
    if any(p.kind == "code" for p in parameters):
        return CODE[:2]
    numbers = [p.name for p in parameters if p.kind == "number"]
    return tuple(f"value:{name}" for name in numbers[:2]) or ("length",)


def describe(entry: Entry, descriptors: Sequence[str]) -> Point | None:
    """Return a candidate's descriptors in order; None when one of them cannot be had, such as a metric that was not measured.

    A descriptor is `metric:NAME` (mean over the newest results), `value:NAME` (a parameter that is a number), or one
    of `length`, `branches` and `depth` over all parameters that are texts.
    """
    found = [_one(entry, name) for name in descriptors]
    known = [x for x in found if x is not None and math.isfinite(x)]
    return tuple(known) if len(known) == len(found) else None


def cells(points: Sequence[Point], bins: int) -> list[Point]:
    """Return each point's cell in a grid that spans all the points, with `bins` equal parts in every dimension."""
    lows = [min(column) for column in zip(*points, strict=True)]
    widths = [max(column) - low for column, low in zip(zip(*points, strict=True), lows, strict=True)]
    return [
        tuple(
            float(min(bins - 1, int(bins * (x - low) / width))) if width else 0.0
            for x, low, width in zip(point, lows, widths, strict=True)
        )
        for point in points
    ]


def _one(entry: Entry, name: str) -> float | None:
    kind, _, of = name.partition(":")
    if kind == "metric":
        found = [r.feedback.metrics.get(of) for r, _ in entry.latest.values() if r.split == entry.split]
        known = [x for x in found if x is not None]
        return fmean(known) if known and len(known) == len(found) else None
    if kind == "value":
        value = entry.candidate.values.get(of)
        return float(value) if isinstance(value, int | float) else None
    texts = [v if isinstance(v, str) else canonical_json(v).decode() for v in entry.candidate.values.values()]
    if kind == "length":
        return math.log1p(sum(map(len, texts)))
    trees = [tree for text in texts if (tree := _tree(text)) is not None]
    if kind == "branches":
        kinds = (ast.If, ast.IfExp, ast.For, ast.While, ast.comprehension, ast.Try, ast.BoolOp)
        return float(sum(isinstance(node, kinds) for tree in trees for node in ast.walk(tree)))
    return float(max((_depth(tree) for tree in trees), default=0))


def _tree(text: str) -> ast.AST | None:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _depth(tree: ast.AST) -> int:
    deepest, level = 0, [tree]
    while level:
        deepest += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return deepest
