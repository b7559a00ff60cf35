"""Pareto order: over objectives (who dominates whom), and over instances (who is best on which example)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def dominates(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether `a` is nowhere worse and somewhere better than `b`; all numbers are maximised."""
    return all(x >= y for x, y in zip(a, b, strict=True)) and any(x > y for x, y in zip(a, b, strict=True))


def sort_fronts(items: Sequence[T], vector: Callable[[T], Sequence[float]]) -> list[list[T]]:
    """Split `items` into fronts, the non-dominated one first (non-dominated sorting, Deb et al. 2002); order kept within a front."""
    vectors = [vector(item) for item in items]
    left, fronts = list(range(len(items))), []
    while left:
        front = [i for i in left if not any(dominates(vectors[j], vectors[i]) for j in left)]
        fronts.append([items[i] for i in front])
        left = [i for i in left if i not in front]
    return fronts


def instance_winners(scores: Mapping[K, Mapping[str, float]]) -> dict[K, set[str]]:
    """Return, by candidate, the examples on which no other candidate scores higher; candidates that win nowhere are left out.

    `scores` is by candidate, then by example; a candidate that was not measured on an example does not compete there.
    """
    best: dict[str, float] = {}
    for row in scores.values():
        for example, score in row.items():
            best[example] = max(score, best.get(example, score))
    wins = {name: {e for e, s in row.items() if s == best[e]} for name, row in scores.items()}
    return {name: won for name, won in wins.items() if won}


def prune_dominated(wins: Mapping[K, set[str]], order: Sequence[K]) -> dict[K, set[str]]:
    """Drop candidates whose wins are all covered by the others that stay, worst of `order` (best first) first.

    This is the frontier's clean-up of the GEPA paper (arXiv 2507.19457, algorithm 2): what stays wins every example that `wins` does.
    """
    kept = dict(wins)
    for name in reversed([n for n in order if n in wins]):
        others = [won for other, won in kept.items() if other != name]
        if others and kept[name] <= set().union(*others):
            del kept[name]
    return kept
