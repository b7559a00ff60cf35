"""Racing: new candidates are measured on growing parts of the same examples, and those that fall behind are measured no further.

Successive halving (Karnin, Koren and Somekh, ICML 2013): every rung has twice the examples and keeps the better half. Whoever is left
was measured on all of them; what was dropped stays on record and joins nothing that a search chooses from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from tracebench_core.specs import Example, Values
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.search import Search, SearchSettings

FIRST_SHARE = 4
"""The first rung has this part of the examples."""
FIRST_RUNG = 2
"""And no fewer examples than these."""

Lot = tuple[Entry, Sequence[Values]]
"""A parent and its children."""


class RacingSettings(SearchSettings):
    """Settings of searches that compare several new candidates at a time."""

    racing: bool = True
    """Measure a step's candidates on growing parts of the examples and drop the worse half each time; when false, all on all."""


def race(search: Search, lots: Sequence[Lot], examples: Sequence[Example], *, origin: str) -> list[Entry]:
    """Measure new candidates rung by rung, and return those that were measured on all of `examples`, in the order of the lots.

    The examples of a rung are drawn anew for each race. Whoever is level with the last of the better half goes on, too.
    """
    order = list(examples)
    search.problem.rng.shuffle(order)
    sizes = rungs(len(order), sum(len(children) for _, children in lots))
    first = order[: sizes[0]]
    runners = [e for parent, children in lots for e in search.attempt(children, first, parent=parent, origin=origin)]
    for size, following in pairwise(sizes):
        runners = _ahead(search, runners, order[:size])
        for runner in runners:
            search.measure(runner, order[:following])
    return runners


def rungs(examples: int, runners: int) -> list[int]:
    """Return how many examples each rung has, smallest first; one rung with all of them where there is nothing to drop."""
    first = min(examples, max(FIRST_RUNG, -(-examples // FIRST_SHARE)))
    sizes = [examples]
    while runners > 1 and sizes[0] > first:
        sizes.insert(0, max(first, -(-sizes[0] // 2)))
        runners = -(-runners // 2)
    return sizes


def raced(settings: RacingSettings, *, examples: float, runners: int) -> float:
    """Return how many evaluations the candidates of a step take when they race and no two are level."""
    if not settings.racing:
        return runners * examples
    total, before = 0, 0
    for size in rungs(math.ceil(examples), runners):
        total += runners * (size - before)
        runners, before = -(-runners // 2), size
    return float(total)


def _ahead(search: Search, runners: Sequence[Entry], examples: Sequence[Example]) -> list[Entry]:
    """Return the better half and whoever is level with the last of it, order kept."""
    ranked = search.archive.ranked(runners, examples=examples)
    last = ranked[-(-len(ranked) // 2) - 1].mean(examples) if ranked else None
    return [e for e in runners if (mean := e.mean(examples)) is not None and last is not None and mean >= last]
