"""Graphs for evaluators that expect those of networkx: a dictionary with the few methods that checks of a vertex set use."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping


class Graph(dict[int, set[int]]):
    """Vertex -> its neighbours; a candidate is handed the plain dictionary."""

    def nodes(self) -> list[int]:
        """Return the vertices."""
        return list(self)

    def edges(self) -> list[tuple[int, int]]:
        """Return each edge once, its smaller vertex first."""
        return [(v, u) for v, row in self.items() for u in sorted(row) if v < u]

    def has_edge(self, v: int, u: int) -> bool:
        """Say whether two vertices are neighbours."""
        return u in self.get(v, ())

    def neighbors(self, v: int) -> Iterator[int]:
        """Yield the neighbours of a vertex."""
        return iter(self[v])


def read_graphs(texts: Mapping[str, str]) -> dict[str, dict[str, Graph]]:
    """Return graphs as the hub's loader gives them, by sub-folder and file, from JSON texts `{"nodes": ..., "edges": ...}` by path."""
    found: dict[str, dict[str, Graph]] = {}
    for path, text in texts.items():
        raw = json.loads(text)
        nodes = range(raw["nodes"]) if isinstance(raw["nodes"], int) else raw["nodes"]
        graph = Graph({v: set() for v in nodes})
        for v, u in raw["edges"]:
            graph[v].add(u)
            graph[u].add(v)
        folder, _, file = path.rpartition("/")
        found.setdefault(folder or "er_test", {})[file] = graph
    return found
