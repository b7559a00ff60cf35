"""The nodes of a graph's operator: none of the parameters is lost to another of its name, nor to the examples."""

from __future__ import annotations

from types import SimpleNamespace

from tracebench_opto.bridge.graph import parents_of


def test_no_node_takes_the_place_of_another() -> None:
    named = [SimpleNamespace(name=name) for name in ("a_b:0", "a_b:1", "examples:0", "c:0")]
    inputs = SimpleNamespace(name="examples:1")

    parents = parents_of(named, {"examples": inputs})

    assert [*parents] == ["a_b", "a_b_", "examples", "c", "examples_"]
    assert [*parents.values()] == [*named, inputs]
