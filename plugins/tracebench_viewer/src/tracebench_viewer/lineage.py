"""The tree of a job's candidates: all of a small one; of a large one those that led and what led to them, the rest in numbers."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

from tracebench_viewer.jobview import Row, Seen

SMALL = 40
"""Candidates of a tree that is drawn whole."""
FEW = 3
"""Siblings without children that are drawn one by one in a larger tree."""
MOST = 150
"""Nodes, above which only what led, and what that was made from, is drawn by itself."""
OTHERS = "others"
"""Stands in the place of a verdict where a node is several candidates."""


def lineage(candidates: Mapping[str, Seen]) -> tuple[list[Row], list[Row]]:
    """Return the tree as nodes (`x` the generation, `y` the place in it, `count` of candidates) and edges (from `x`, `y` to `x2`, `y2`).

    A node that stands for several has the verdict `others`, and is named by the one among them with the highest score.
    """
    kept = _kept(candidates)
    nodes: list[Row] = []
    places: dict[str, tuple[int, int]] = {}
    taken: Counter[int] = Counter()
    folded: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for name, seen in candidates.items():
        if name in kept:
            nodes.append(_node(name, seen, 1, taken))
            places[name] = nodes[-1]["x"], nodes[-1]["y"]
        else:
            folded[_anchors(name, candidates, kept)].append(name)
    edges = [
        _edge(places[parent], places[name])
        for name in places for parent in candidates[name].event.parents if parent in places
    ]  # fmt: skip
    for above, names in folded.items():
        shown = max(names, key=lambda name: (candidates[name].score is not None, candidates[name].score or 0.0))
        node = _node(shown, candidates[shown], len(names), taken)
        nodes.append(node)
        edges += [_edge(places[name], (node["x"], node["y"])) for name in above]
    return nodes, edges


def _kept(candidates: Mapping[str, Seen]) -> Collection[str]:
    if len(candidates) <= SMALL:
        return candidates.keys()
    parents = {parent for seen in candidates.values() for parent in seen.event.parents}
    siblings: dict[tuple[str, ...], list[str]] = defaultdict(list)
    kept = set()
    for name, seen in candidates.items():
        if name in parents or seen.verdict in {"best", "led", "accepted"}:
            kept.add(name)
        else:
            siblings[seen.event.parents].append(name)
    kept |= {name for names in siblings.values() if len(names) <= FEW for name in names}
    several = sum(len(names) > FEW for names in siblings.values())
    return kept if len(kept) + several <= MOST else _leading(candidates)


def _leading(candidates: Mapping[str, Seen]) -> set[str]:
    """Return the first candidate, those that led, and all that these were made from."""
    wanted = [next(iter(candidates)), *(name for name, seen in candidates.items() if seen.verdict in {"best", "led"})]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in candidates and name not in found:
            found.add(name)
            wanted += candidates[name].event.parents
    return found


def _anchors(name: str, candidates: Mapping[str, Seen], kept: Collection[str]) -> tuple[str, ...]:
    """Return the nearest candidates that are drawn among those that one was made from; none where none is."""
    found: dict[str, None] = {}
    wanted, met = [*candidates[name].event.parents], set()
    while wanted:
        parent = wanted.pop(0)
        if parent in met or parent not in candidates:
            continue
        met.add(parent)
        if parent in kept:
            found[parent] = None
        else:
            wanted += candidates[parent].event.parents
    return tuple(found)


def _node(name: str, seen: Seen, count: int, taken: Counter[int]) -> Row:
    x = seen.generation
    y, taken[x] = taken[x], taken[x] + 1
    return {
        "candidate": name, "x": x, "y": y, "#": seen.order, "score": seen.score, "delta": seen.delta,
        "verdict": seen.verdict if count == 1 else OTHERS, "origin": seen.event.origin, "count": count,
    }  # fmt: skip


def _edge(above: tuple[int, int], below: tuple[int, int]) -> Row:
    return {"x": above[0], "y": above[1], "x2": below[0], "y2": below[1]}
