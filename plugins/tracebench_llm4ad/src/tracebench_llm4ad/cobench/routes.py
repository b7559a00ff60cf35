"""Ways and trees: resource constrained shortest paths and Euclidean Steiner trees, in OR-Library's formats."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, Tokens, part, rows
from tracebench_llm4ad.drawings.drawing import PLAIN, Drawing
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import array, integers

TOLERANCE = 1e-9
STEINER_RATIO = 0.8241
"""No Steiner tree is shorter than this share of the minimum spanning tree (Chung and Graham, 1985)."""


class ConstrainedPath(Problem):
    """Shortest path from vertex 1 to vertex n within limits on resources."""

    name = "optimization/co_bench/resource_constrained_shortest_path_co_bench"
    folder = "Resource constrained shortest path"
    program = '''
def solve(n: int, m: int, K: int, lower_bounds: list, upper_bounds: list, vertex_resources: list, graph: dict) -> dict:
    """Extend partial paths, the shortest in arcs first, none to where another led with less use; the first complete one wins."""
    import heapq

    used = tuple(vertex_resources[0])
    heap, labels = [(1, (1,), used, 0.0)], {}
    while heap:
        _, path, used, cost = heapq.heappop(heap)
        here = path[-1]
        if here == n and all(low <= u for low, u in zip(lower_bounds, used)):
            return {"total_cost": cost, "path": list(path)}
        if any(all(a <= b for a, b in zip(other, used)) for other in labels.get(here, [])) and max(lower_bounds) <= 0:
            continue
        labels.setdefault(here, []).append(used)
        for end, price, use in graph.get(here, []):
            if end not in path:
                total = tuple(u + v + w for u, v, w in zip(used, use, vertex_resources[end - 1]))
                if all(t <= high for t, high in zip(total, upper_bounds)):
                    heapq.heappush(heap, (len(path) + 1, (*path, end), total, cost + price))
    return {"total_cost": 0.0, "path": []}
'''
    objective = """
Shortest path with limits: find the cheapest path from vertex 1 to vertex n whose use of every resource is within its limits. Write \
`solve(n, m, K, lower_bounds, upper_bounds, vertex_resources, graph)`.
- `n`, `m`, `K` (int): vertices, arcs, resources. `lower_bounds`, `upper_bounds` (lists of K floats).
- `vertex_resources` (list of n lists of K floats): what a visit of each vertex uses.
- `graph` (dict): vertex from 1 to n -> list of arcs (end vertex, cost, list of K floats: what the arc uses).
Return `{"total_cost": number, "path": [1, ..., n]}`. Every step is an arc of the graph, no vertex is visited twice, and for each \
resource the use by all visited vertices and arcs is at least the lower and at most the upper bound. The cost is computed by the \
evaluator; of parallel arcs the cheapest that keeps the limits may be meant.
Score: minus the total cost, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `rcsp` files: n, m, K, lower and upper bounds, use of each vertex, and from, to, cost, use of each arc."""
        tokens = Tokens(text)
        n, m, k = tokens.wholes(3)
        lower, upper, vertices = tokens.numbers(k), tokens.numbers(k), tokens.table(n, k)
        graph: dict[int, list[tuple[int, float, list[float]]]] = {v: [] for v in range(1, n + 1)}
        for _ in range(m):
            start, end = tokens.wholes(2)
            graph[start].append((end, tokens.number(), tokens.numbers(k)))
        arguments = {"n": n, "m": m, "K": k, "lower_bounds": lower, "upper_bounds": upper}
        yield Case(arguments | {"vertex_resources": vertices, "graph": graph})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One graph of 30 vertices and 150 forward arcs with one resource, of which a hidden path uses 80 %."""
        hidden = [1, *sorted(rng.permutation(np.arange(2, 30))[:5].tolist()), 30]
        pairs = list(pairwise(hidden))
        pairs += [(int(a), int(b)) for a, b in (sorted(rng.permutation(30)[:2] + 1) for _ in range(150 - len(pairs)))]
        arcs = [(a, b, int(rng.integers(1, 100)), int(rng.integers(1, 20))) for a, b in pairs]
        limit = int(sum(use for *_, use in arcs[: len(hidden) - 1]) / 0.8)
        return f"30 150 1\n0\n{limit}\n{rows(np.zeros((30, 1)))}\n{rows(arcs)}\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the cost of the path."""
        given = case.arguments
        value = part(answer, "path")
        path = integers(value, what="path")
        if len(path) < 2 or path[0] != 1 or path[-1] != given["n"]:  # noqa: PLR2004 - two ends
            raise invalid(f"`path` must lead from 1 to {given['n']}; it is {path[:20]}.")
        if len(set(path)) != len(path):
            raise invalid("`path` must not visit a vertex twice.")
        visits = np.array([given["vertex_resources"][v - 1] for v in path if 1 <= v <= given["n"]]).sum(axis=0)
        labels = [(0.0, visits)]
        for start, end in pairwise(path):
            arcs = [(cost, np.array(use)) for to, cost, use in given["graph"].get(start, []) if to == end]
            if not arcs:
                raise invalid(f"There is no arc from {start} to {end}.")
            labels = [(c + cost, used + use) for c, used in labels for cost, use in arcs]
            labels = sorted(labels, key=lambda label: label[0])[:1000]
        for cost, used in labels:
            if not broken_limits(used, given["lower_bounds"], given["upper_bounds"]):
                return float(cost)
        raise invalid(broken_limits(labels[0][1], given["lower_bounds"], given["upper_bounds"]))

    def simple_bound(self, case: Case) -> float:
        """Return the cost of a shortest path without limits (Dijkstra)."""
        graph, goal = case.arguments["graph"], case.arguments["n"]
        heap: list[tuple[float, int]] = [(0.0, 1)]
        done: set[int] = set()
        while heap:
            cost, here = heapq.heappop(heap)
            if here == goal:
                return cost
            if here in done:
                continue
            done.add(here)
            for end, price, _ in graph[here]:
                heapq.heappush(heap, (cost + price, end))
        return 0.0


def broken_limits(used: np.ndarray, lower: Sequence[float], upper: Sequence[float]) -> str:
    """Return which limit a use breaks, in words, or nothing."""
    for k, (use, low, high) in enumerate(zip(used, lower, upper, strict=True), start=1):
        slack = TOLERANCE * max(1.0, abs(low), abs(high))
        if not low - slack <= use <= high + slack:
            return f"The path uses {use:g} of resource {k}, not {low:g} to {high:g}."
    return ""


class Steiner(Problem):
    """Points that shorten the minimum spanning tree."""

    name = "optimization/co_bench/euclidean_steiner_problem_co_bench"
    folder = "Euclidean Steiner problem"
    bound_source = "the bound of Chung and Graham"
    program = '''
def solve(points: list) -> dict:
    """Add no point."""
    return {"steiner_points": []}
'''
    objective = """
Steiner points: add points so that the minimum spanning tree of all points becomes short. Write `solve(points)`.
- `points` (list of n tuples (x, y) of floats): the points that must be joined.
Return `{"steiner_points": [(x, y), ...]}`: the points to add, at most as many as there are given ones, all finite. The evaluator \
computes the Euclidean minimum spanning tree of given and added points; it must not be longer than that of the given ones alone.
Score: 1 - length of the tree / length of the tree without added points, averaged over cases; 0 is no gain.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read OR-Library's `estein` files: the number of cases; for each the number of points, and the points."""
        tokens = Tokens(text)
        for _ in range(tokens.whole()):
            points = tokens.table(tokens.whole(), 2)
            yield Case({"points": [(x, y) for x, y in points]})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 20 points, uniform in the unit square."""
        return "3\n" + "\n".join(f"20\n{rows(rng.random((20, 2)))}" for _ in range(3)) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the share by which the tree becomes shorter."""
        given = np.array(case.arguments["points"])
        value = part(answer, "steiner_points")
        count = len(value) if isinstance(value, list | tuple) or np.ndim(value) else -1
        if not 0 <= count <= len(given):
            raise invalid(f"`steiner_points` must be a list of at most {len(given)} points.")
        added = array(value, shape=(count, 2), what="steiner_points") if count else np.zeros((0, 2))
        before = tree_length(given)
        after = tree_length(np.vstack([given, added]))
        if after > before * (1 + TOLERANCE):
            raise invalid(f"The tree is longer with the added points: {after:g} in place of {before:g}.")
        return max(0.0, 1.0 - after / before) if before > 0 else 0.0

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the tree over given and added points."""
        given = np.array(case.arguments["points"])
        added = np.array(answer["steiner_points"], dtype=float).reshape(-1, 2)
        drawing = Drawing(note=f"{len(given)} points, {len(added)} added (orange)")
        for a, b in tree_edges(np.vstack([given, added])):
            drawing.line([a, b], PLAIN)
        drawing.dots(given.tolist(), 0)
        drawing.dots(added.tolist(), 1)
        return drawing

    def simple_bound(self, case: Case) -> float:
        """Return the greatest share that Steiner points can save."""
        return 1.0 - STEINER_RATIO

    def size(self, case: Case) -> str:
        """Name the number of points."""
        return f"Case: {len(case.arguments['points'])} points."


def tree_length(points: np.ndarray) -> float:
    """Return the length of the minimum spanning tree."""
    return math.fsum(math.dist(a, b) for a, b in tree_edges(points))


def tree_edges(points: np.ndarray) -> list[tuple[list[float], list[float]]]:
    """Return the edges of the minimum spanning tree (Prim)."""
    far = np.full(len(points), np.inf)
    near = np.zeros(len(points), dtype=np.int64)
    left = np.ones(len(points), dtype=bool)
    edges = []
    here = 0
    for _ in range(len(points) - 1):
        left[here] = False
        with np.errstate(over="ignore"):
            away = np.hypot(*(points - points[here]).T)
        closer = away < far
        far[closer], near[closer] = away[closer], here
        rest = np.flatnonzero(left)
        here = int(rest[np.argmin(far[rest])])
        edges.append((points[here].tolist(), points[near[here]].tolist()))
    return edges


build_constrained_path = ConstrainedPath.build
build_steiner = Steiner.build
