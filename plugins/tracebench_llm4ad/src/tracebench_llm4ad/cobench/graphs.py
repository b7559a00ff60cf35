"""Colours and tours: graph colouring (DIMACS) and the travelling salesman (coordinates)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tracebench_llm4ad.cobench.problem import Case, Problem, finite, part, permutation
from tracebench_llm4ad.drawings import kinds
from tracebench_llm4ad.drawings.drawing import Drawing
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import whole


class Colouring(Problem):
    """Vertex colouring."""

    name = "optimization/co_bench/graph_colouring_co_bench"
    folder = "Graph colouring"
    program = '''
def solve(n: int, edges: list, adjacency: dict) -> dict:
    """Give each vertex in turn the least colour that no neighbour has."""
    colour = {}
    for v in range(1, n + 1):
        taken = {colour.get(u) for u in adjacency[v]}
        colour[v] = next(c for c in range(1, n + 1) if c not in taken)
    return colour
'''
    objective = """
Graph colouring: give each vertex a colour so that neighbours differ, with as few colours as possible. Write `solve(n, edges, adjacency)`.
- `n` (int): vertices, numbered from 1 to n. `edges` (list of tuples (u, v)).
- `adjacency` (dict): vertex -> set of its neighbours.
Return a dict: vertex -> its colour, a positive integer, for every vertex from 1 to n.
Score: minus the number of different colours, averaged over cases. Two neighbours of one colour are refused.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read a DIMACS graph: `p edge n m`, then `e u v` for each edge."""
        n, edges = 0, set()
        for line in text.splitlines():
            match line.split():
                case ["p", _, vertices, *_]:
                    n = int(vertices)
                case ["e", first, second] if first != second:
                    u, v = sorted((int(first), int(second)))
                    edges.add((u, v))
        if not n or any(not 1 <= u < v <= n for u, v in edges):
            raise ValueError("it has no line `p edge n m`, or an edge beyond n")
        adjacency: dict[int, set[int]] = {v: set() for v in range(1, n + 1)}
        for u, v in edges:
            adjacency[u].add(v)
            adjacency[v].add(u)
        yield Case({"n": n, "edges": sorted(edges), "adjacency": adjacency})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One random graph of 40 vertices, each pair an edge with probability 0.3."""
        pairs = [(u, v) for u in range(1, 41) for v in range(u + 1, 41) if rng.random() < 0.3]  # noqa: PLR2004 - the density
        return f"p edge 40 {len(pairs)}\n" + "\n".join(f"e {u} {v}" for u, v in pairs) + "\n"

    def value(self, case: Case, answer: Mapping[Any, Any]) -> float:
        """Return the number of colours."""
        colours = {}
        for vertex in range(1, case.arguments["n"] + 1):
            given = answer.get(vertex, answer.get(str(vertex)))
            if given is None:
                raise invalid(f"Vertex {vertex} has no colour.")
            colours[vertex] = whole(given, what="colours")
            if colours[vertex] < 1:
                raise invalid(f"Vertex {vertex} has colour {colours[vertex]}; colours are positive.")
        clashes = [(u, v) for u, v in case.arguments["edges"] if colours[u] == colours[v]]
        if clashes:
            raise invalid(f"{len(clashes)} edges join vertices of one colour, among them {clashes[0]}.")
        return float(len(set(colours.values())))

    def simple_bound(self, case: Case) -> float:
        """Return the size of a clique that a greedy search finds."""
        adjacency = case.arguments["adjacency"]
        best = 1
        for start in adjacency:
            clique, common = [start], set(adjacency[start])
            while common:
                v = max(common, key=lambda u: (len(adjacency[u] & common), -u))
                clique.append(v)
                common &= adjacency[v]
            best = max(best, len(clique))
        return float(best)


class Salesman(Problem):
    """Euclidean round trips."""

    name = "optimization/co_bench/travelling_salesman_problem_co_bench"
    folder = "Travelling salesman problem"
    program = '''
def solve(nodes: list) -> dict:
    """Go to the nearest city that is left."""
    left, tour = set(range(1, len(nodes))), [0]
    while left:
        here = nodes[tour[-1]]
        tour.append(min(left, key=lambda k: (nodes[k][0] - here[0]) ** 2 + (nodes[k][1] - here[1]) ** 2))
        left.remove(tour[-1])
    return {"tour": tour}
'''
    objective = """
Travelling salesman: visit every city once and return, on a short way. Write `solve(nodes)`.
- `nodes` (list of n tuples (x, y) of floats): the cities; distances are Euclidean.
Return `{"tour": [...]}`, the city numbers from 0 to n - 1, each once; the way back to the first follows by itself.
Score: minus the length of the round trip, averaged over cases.
"""

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - told apart by their content
        """Read one case a line (x y x y … `output` and a best tour from 1), or a TSPLIB file with a NODE_COORD_SECTION."""
        if "NODE_COORD_SECTION" in text:
            lines = text.partition("NODE_COORD_SECTION")[2].partition("EOF")[0].splitlines()
            yield Case({"nodes": [(finite(w[1]), finite(w[2])) for w in map(str.split, lines) if w]})
            return
        for line in filter(None, map(str.strip, text.splitlines())):
            before, _, after = line.partition("output")
            flat = [finite(w) for w in before.split()]
            nodes = list(zip(flat[::2], flat[1::2], strict=True))
            best = [int(w) - 1 for w in after.split()]
            yield Case({"nodes": nodes}, length(nodes, best) if sorted(set(best)) == list(range(len(nodes))) else None)

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """Three cases of 40 cities, uniform in the unit square, without a best tour."""
        return "\n".join(" ".join([*(f"{x:.6f}" for x in rng.random(80)), "output"]) for _ in range(3))

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the length of the round trip."""
        nodes = case.arguments["nodes"]
        return length(nodes, permutation(part(answer, "tour"), first=0, count=len(nodes), what="tour"))

    def picture(self, case: Case, answer: Mapping[str, Any]) -> Drawing:
        """Draw the tour."""
        return kinds.routes(np.array(case.arguments["nodes"]), [answer["tour"]])

    def simple_bound(self, case: Case) -> float:
        """Return half the sum of each city's two shortest ways."""
        points = np.array(case.arguments["nodes"])
        total = 0.0
        for point in points:
            near = np.partition(np.hypot(*(points - point).T), min(2, len(points) - 1))
            total += float(near[1:3].sum()) / 2
        return total

    def size(self, case: Case) -> str:
        """Name the number of cities."""
        return f"Case: {len(case.arguments['nodes'])} cities."


def length(nodes: Sequence[tuple[float, float]], tour: Sequence[int]) -> float:
    """Return the length of a closed tour."""
    ends = [*tour[1:], *tour[:1]]
    return math.fsum(math.dist(nodes[a], nodes[b]) for a, b in zip(tour, ends, strict=True))


build_colouring = Colouring.build
build_salesman = Salesman.build
