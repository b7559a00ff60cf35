"""Trees of hundreds of candidates stay small enough to be read, and lose nobody."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tracebench_core.specs.events import CandidateSeen
from tracebench_viewer.jobview import Seen
from tracebench_viewer.lineage import MOST, SMALL, lineage


def tree(parents: Mapping[str, tuple[str, ...]], **verdicts: str) -> dict[str, Seen]:
    found: dict[str, Seen] = {}
    for order, (name, above) in enumerate(parents.items()):
        event = CandidateSeen(id=name, values={"x": name}, parents=above, origin="o", step=None)
        generation = max((found[parent].generation + 1 for parent in above if parent in found), default=0)
        found[name] = Seen(
            event, order, score=float(order), verdict=verdicts.get(name, "no verdict"), generation=generation
        )
    return found


def test_a_small_tree_is_drawn_whole() -> None:
    small = tree({"c0": (), **{f"c{i}": ("c0",) for i in range(1, SMALL)}})
    nodes, edges = lineage(small)
    assert {node["candidate"] for node in nodes} == {*small}
    assert len(edges) == SMALL - 1


def test_hundreds_of_siblings_are_one_node_beside_those_that_led() -> None:
    wide = tree({"c0": (), **{f"c{i}": ("c0",) for i in range(1, 501)}}, c7="led", c300="best")
    nodes, edges = lineage(wide)
    assert {node["candidate"]: node["count"] for node in nodes} == {"c0": 1, "c7": 1, "c300": 1, "c500": 498}
    assert next(node["verdict"] for node in nodes if node["count"] > 1) == "others"
    assert sum(node["count"] for node in nodes) == len(wide)
    assert len(edges) == 3


@pytest.mark.parametrize("width", [2, 3, 7])
def test_a_large_bushy_tree_shows_what_led_to_the_best_and_counts_the_rest(width: int) -> None:
    parents: dict[str, tuple[str, ...]] = {"c0": ()}
    for i in range(1, 900):
        parents[f"c{i}"] = (f"c{(i - 1) // width}",)
    big = tree(parents, c899="best")
    nodes, edges = lineage(big)
    assert len(nodes) <= MOST
    assert sum(node["count"] for node in nodes) == len(big)
    places = {(node["x"], node["y"]) for node in nodes}
    assert len(places) == len(nodes)
    assert {(edge["x"], edge["y"]) for edge in edges} | {(edge["x2"], edge["y2"]) for edge in edges} <= places
    shown = {node["candidate"] for node in nodes if node["count"] == 1}
    name = "c899"
    while name != "c0":
        assert name in shown
        (name,) = parents[name]


def test_what_was_made_from_nobody_that_is_known_is_counted() -> None:
    odd = tree({f"c{i}": ("gone",) for i in range(60)}, c3="best")
    nodes, edges = lineage(odd)
    assert sum(node["count"] for node in nodes) == 60
    assert edges == []
