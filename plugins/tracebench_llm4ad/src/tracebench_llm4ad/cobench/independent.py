"""Sets of vertices of which no two are neighbours; graphs come as JSON or as pickles of networkx, which are read without running them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tracebench_core.errors import UsageError
from tracebench_llm4ad.cobench.folder import read_binaries, read_files
from tracebench_llm4ad.cobench.pickled import read_graph
from tracebench_llm4ad.cobench.problem import Case, Problem, part
from tracebench_llm4ad.evaluator import invalid
from tracebench_llm4ad.returned import integers

PICKLES = frozenset({".gpickle", ".pickle", ".pkl"})


class IndependentSet(Problem):
    """The largest independent set."""

    name = "optimization/co_bench/maximal_independent_set_co_bench"
    folder = "Maximal independent set"
    sample = "generated.json"
    program = '''
def solve(graph: dict) -> dict:
    """Take the vertices by degree, the least first, each if no neighbour is taken."""
    taken = set()
    for v in sorted(graph, key=lambda v: (len(graph[v]), v)):
        if not taken & graph[v]:
            taken.add(v)
    return {"mis_nodes": sorted(taken)}
'''
    objective = """
Independent set: choose as many vertices of a graph as possible, no two of them neighbours. Write `solve(graph)`.
- `graph` (dict): vertex (int) -> set of its neighbours. As in a networkx graph, `for v in graph`, `len(graph)`, `graph[v]` and \
`u in graph[v]` work; methods of networkx do not.
Return `{"mis_nodes": [...]}`, the chosen vertices, each once.
Score: the number of chosen vertices, averaged over cases. Two chosen neighbours are refused.
"""

    @classmethod
    def files(cls) -> dict[str, str]:
        """Return the files as JSON, pickles of all sub-folders included."""
        pickles = read_binaries(cls.folder, suffixes=PICKLES)
        found = {} if pickles else read_files(cls.folder)
        for name, data in pickles.items():
            try:
                graph = read_graph(data)
            except ValueError as err:
                raise UsageError(
                    f"the file `{name}` of `{cls.folder}` is no graph: {err}", hint="take the file out of the folder"
                ) from err
            edges = sorted((v, u) for v, row in graph.items() for u in row if v < u)
            found[name] = json.dumps({"nodes": sorted(graph), "edges": edges})
        return found

    @classmethod
    def parse(cls, text: str, *, name: str) -> Iterator[Case]:  # noqa: ARG003 - one format
        """Read `{"nodes": [ids] or their number, "edges": [[u, v], ...]}`; with a number, ids are 0, 1, and so on."""
        raw = json.loads(text)
        nodes = range(raw["nodes"]) if isinstance(raw["nodes"], int) else raw["nodes"]
        graph: dict[int, set[int]] = {int(v): set() for v in nodes}
        for u, v in raw["edges"]:
            if u != v:
                graph[u].add(v)
                graph[v].add(u)
        yield Case({"graph": graph})

    @classmethod
    def write(cls, rng: np.random.Generator) -> str:
        """One random graph of 60 vertices, each pair an edge with probability 0.15 (Erdős and Rényi)."""
        pairs = [[u, v] for u in range(60) for v in range(u + 1, 60) if rng.random() < 0.15]  # noqa: PLR2004 - the density
        return json.dumps({"nodes": 60, "edges": pairs}) + "\n"

    def value(self, case: Case, answer: Mapping[str, Any]) -> float:
        """Return the number of chosen vertices."""
        graph = case.arguments["graph"]
        value = part(answer, "mis_nodes")
        chosen = integers(value, what="mis_nodes")
        taken = set(chosen)
        if len(taken) < len(chosen):
            raise invalid("`mis_nodes` must not hold a vertex twice.")
        for vertex in chosen:
            if vertex not in graph:
                raise invalid(f"There is no vertex {vertex}.")
            if clash := graph[vertex] & taken:
                raise invalid(f"Vertices {vertex} and {min(clash)} are neighbours.")
        return float(len(chosen))

    def simple_bound(self, case: Case) -> float:
        """Return the number of cliques that a greedy search needs to cover all vertices: each holds one chosen vertex at most."""
        graph = case.arguments["graph"]
        cliques: list[set[int]] = []
        for vertex in sorted(graph, key=lambda v: -len(graph[v])):
            home = next((clique for clique in cliques if clique <= graph[vertex]), None)
            if home is None:
                cliques.append({vertex})
            else:
                home.add(vertex)
        return float(len(cliques))

    def size(self, case: Case) -> str:
        """Name vertices and edges."""
        graph = case.arguments["graph"]
        return f"Case: {len(graph)} vertices, {sum(map(len, graph.values())) // 2} edges."


build_independent_set = IndependentSet.build
