"""How urgently a candidate should be expanded: its mean, an upper confidence bound, or its age."""

from __future__ import annotations

import math
from typing import Literal

from tracebench_opto.parts.archive import Archive, Entry

ScoreFunction = Literal["mean", "ucb", "time"]


def ucb(entry: Entry, archive: Archive, *, exploration: float) -> float:
    """Return the UCB1 index (Auer et al. 2002): mean + exploration * scale * sqrt(ln N / n).

    n counts this candidate's scores and N all scores. The scale is the spread of the means seen so far, because scores have no fixed range.
    """
    mean = entry.mean()
    if mean is None:
        return -math.inf
    total = sum(e.count for e in archive)
    return mean + exploration * archive.spread() * math.sqrt(math.log(max(total, 1)) / max(entry.count, 1))


def by_priority(
    entries: list[Entry], archive: Archive, *, score_function: ScoreFunction, exploration: float = 1.0
) -> list[Entry]:
    """Return the entries, the most urgent first; equals by age, the older first.

    `mean` is greedy, `ucb` returns to what was measured seldom, `time` takes the newest.
    """
    if score_function == "time":
        return sorted(entries, key=lambda e: -e.index)
    if score_function == "ucb":
        index = {e.index: ucb(e, archive, exploration=exploration) for e in entries}
        return sorted(entries, key=lambda e: (-index[e.index], e.index))
    return archive.ranked(entries)
