"""Reads pickled graphs without running anything: plain containers, and the state of a networkx graph, which becomes a dictionary."""

from __future__ import annotations

import io
import pickle
from collections import OrderedDict
from typing import Any

PLAIN = {
    ("builtins", "dict"): dict,
    ("builtins", "list"): list,
    ("builtins", "set"): set,
    ("builtins", "frozenset"): frozenset,
    ("collections", "OrderedDict"): OrderedDict,
}
GRAPHS = frozenset({"networkx.classes.graph"})


class GraphState:
    """Takes a graph's state in place of the graph."""

    def __init__(self) -> None:
        self.adjacency: dict[Any, set[Any]] = {}

    def __setstate__(self, state: Any) -> None:
        """Keep who is joined to whom."""
        table = state.get("_adj", state.get("adj")) if isinstance(state, dict) else None
        if not isinstance(table, dict) or not all(isinstance(row, dict) for row in table.values()):
            raise pickle.UnpicklingError("the graph has no adjacency")
        self.adjacency = {node: set(row) for node, row in table.items()}


class PlainUnpickler(pickle.Unpickler):
    """Knows no class but containers and the stand-in for a graph: a name outside of these ends the reading, before any call."""

    def find_class(self, module: str, name: str) -> Any:
        """Return a container or the stand-in."""
        if (module, name) in PLAIN:
            return PLAIN[module, name]
        if module in GRAPHS and name == "Graph":
            return GraphState
        raise pickle.UnpicklingError(f"it names `{module}.{name}`, and only plain graphs are read")

    def persistent_load(self, pid: Any) -> Any:
        """Refuse references to anything outside."""
        raise pickle.UnpicklingError(f"it refers to `{pid}` outside of itself")


def read_graph(data: bytes) -> dict[int, set[int]]:
    """Return a pickled graph as a dictionary: node -> its neighbours.

    Raises:
        ValueError: when the bytes hold anything but one undirected graph whose nodes are integers.
    """
    try:
        found = PlainUnpickler(io.BytesIO(data)).load()
    except Exception as err:  # a damaged pickle raises nearly anything
        raise ValueError(f"the pickle cannot be read: {err}") from err
    if not isinstance(found, GraphState):
        raise ValueError(f"the pickle holds a {type(found).__name__}, no graph")  # noqa: TRY004 - a wrong file, not a wrong call
    adjacency = found.adjacency
    for node, neighbours in adjacency.items():
        if type(node) is not int or not all(type(u) is int and node in adjacency.get(u, ()) for u in neighbours):
            raise ValueError("the graph's nodes are not all integers joined both ways")
    return adjacency
