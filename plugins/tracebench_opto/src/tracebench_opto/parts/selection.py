"""Selection rules: who breeds next, drawn at random or read off a frontier."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

from tracebench_core.specs import Example
from tracebench_opto.parts.archive import Entry, rank
from tracebench_opto.parts.contests import Contests, by_example
from tracebench_opto.parts.frontier import instance_winners, prune_dominated, sort_fronts
from tracebench_opto.parts.objectives import SCALAR, Goal


def draw_softmax(entries: Sequence[Entry], *, scale: float, rng: random.Random) -> Entry:
    """Draw one entry with probability proportional to exp(mean / scale)."""
    means = [e.mean() for e in entries]
    top = max((m for m in means if m is not None), default=0.0)
    weights = [math.exp((m - top) / scale) if m is not None else 0.0 for m in means]
    return rng.choices(entries, weights if any(weights) else None)[0]


def frontier_wins(
    entries: Sequence[Entry], examples: Sequence[Example], *, contests: Contests = by_example
) -> dict[int, int]:
    """Return, by index of the entry, in how many contests each member of the pruned frontier is best; on how many of `examples` by default.

    The frontier is the GEPA paper's (arXiv 2507.19457, algorithm 2).
    """
    measured = rank([e for e in entries if e.mean() is not None], SCALAR)
    scores = {e.index: contests(e, examples) for e in measured}
    kept = prune_dominated(instance_winners(scores), [e.index for e in measured])
    return {index: len(won) for index, won in kept.items()}


def frontier(
    entries: Sequence[Entry], goal: Goal, examples: Sequence[Example], *, contests: Contests = by_example
) -> list[Entry]:
    """Return the candidates on the frontier, best first.

    With goal `pareto` these are the candidates that no other dominates in the objectives; else those that no others together match in
    every contest.
    """
    ranked = rank(entries, goal)
    if goal.mode == "pareto":
        measured = [e for e in ranked if e.vector() is not None]
        return sort_fronts(measured, lambda e: e.vector() or ())[0] if measured else []
    wins = frontier_wins(entries, examples, contests=contests)
    return [e for e in ranked if e.index in wins]


def draw_by_wins(
    entries: Sequence[Entry],
    goal: Goal,
    examples: Sequence[Example],
    *,
    rng: random.Random,
    contests: Contests = by_example,
) -> Entry:
    """Draw one member of the frontier, as often as it wins contests (GEPA paper, algorithm 2); with goal `pareto` evenly."""
    members = frontier(entries, goal, examples, contests=contests) or list(entries)
    if goal.mode == "pareto":
        return rng.choice(members)
    wins = frontier_wins(entries, examples, contests=contests)
    return rng.choices(members, [wins.get(e.index, 1) for e in members])[0]
