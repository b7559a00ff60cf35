"""Who stands in one table, in which order: entrants that have all of its tasks, by verdicts and then by means; the others apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations

from tracebench_analysis.comparison.pairing import Two
from tracebench_analysis.comparison.verdicts import PairVerdict
from tracebench_analysis.statistics.differences import Scores
from tracebench_analysis.statistics.intervals import mean_of_means

Pair = tuple[str, str]


def in_order(met: Mapping[Pair, Two], entrants: Sequence[str]) -> dict[Pair, Two]:
    """Return the pairs in the order of the entrants, the higher one first."""
    return {(a, b): met[a, b] if (a, b) in met else met[b, a].turned() for a, b in combinations(entrants, 2)}


def tasks_of_table(scores: Mapping[str, Scores], tasks: Sequence[str]) -> tuple[str, ...]:
    """Return the tasks of the table: all, where any entrant has them; else the ones that most entrants have in common."""
    having = {frozenset(t for t in tasks if own.get(t)) for own in scores.values()}
    every = frozenset[str]().union(*having)
    if every in having:
        return tuple(t for t in tasks if t in every)

    def worth(chosen: frozenset[str]) -> tuple[int, int, list[int]]:
        holders = sum(all(own.get(t) for t in chosen) for own in scores.values())
        return holders if chosen else 0, len(chosen), [-tasks.index(t) for t in sorted(chosen, key=tasks.index)]

    best = max(having, key=worth)
    return tuple(t for t in tasks if t in best)


def lacks(scores: Scores, shared: Sequence[str]) -> tuple[str, ...]:
    """Return the tasks of the table on which an entrant has no score."""
    return tuple(task for task in shared if not scores.get(task))


def ordered(scores: Mapping[str, Scores], pairs: Sequence[PairVerdict], shared: Sequence[str]) -> list[str]:
    """Return the entrants: those with every task of the table first, by verdicts and then by their mean on these tasks.

    A resolved pair stands in its verdict's order, whatever the means on the table's scale say, which other entrants may move.
    """
    wins = dict.fromkeys(scores, 0)
    whole = {name for name, own in scores.items() if own and not lacks(own, shared)}
    for pair in pairs:
        if pair.one in whole and pair.other in whole:
            by = {"better": 1, "worse": -1}.get(pair.verdict, 0)
            wins[pair.one] += by
            wins[pair.other] -= by
    on_table = {name: {t: own[t] for t in shared if own.get(t)} or own for name, own in scores.items()}
    return sorted(
        scores,
        key=lambda name: (
            name not in whole,
            len(lacks(scores[name], shared)),
            -wins[name],
            height_of(on_table[name]),
            name,
        ),
    )


def height_of(scores: Scores) -> float:
    """Return what sorts entrants by their mean, the highest first and those without a score last."""
    return -mean_of_means([[*seeds.values()] for seeds in scores.values()]) if scores else math.inf
