"""System-aware merge of the GEPA paper (arXiv 2507.19457, section 3.3 and appendix): two lineages that improved
different parameters."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from tracebench_core.specs import Values
from tracebench_opto.parts.archive import Entry


class Pair(NamedTuple):
    """Two candidates worth merging, and the nearest ancestor that both descend from."""

    one: Entry
    other: Entry
    ancestor: Entry


def mergeable_pairs(entries: Sequence[Entry]) -> list[Pair]:
    """Return the pairs of which neither descends from the other, whose common ancestor is no better than either, and that differ from
    it in complementary parameters."""
    pairs = []
    for one, other in combinations(entries, 2):
        above = _ancestors(other)
        shared = [e for e in _ancestors(one) if e in above]
        if one in above or other in _ancestors(one) or not shared:
            continue
        pair = Pair(one, other, shared[0])
        if _is_no_better(pair) and _complements(pair):
            pairs.append(pair)
    return pairs


def merge(pair: Pair, *, rng: random.Random) -> Values:
    """Return the merged values: of each parameter the changed one, and where both changed it that of the better candidate.

    Equal candidates are told apart by chance.
    """
    scores = pair.one.mean() or 0.0, pair.other.mean() or 0.0
    better = pair.one if scores[0] > scores[1] else pair.other if scores[1] > scores[0] else rng.choice(pair[:2])
    merged = {}
    for name, original in pair.ancestor.candidate.values.items():
        one, other = pair.one.candidate.values[name], pair.other.candidate.values[name]
        merged[name] = other if one == original else one if other == original else better.candidate.values[name]
    return merged


def _ancestors(entry: Entry) -> list[Entry]:
    """Return the ancestors, nearest first."""
    return entry.lineage()[-2::-1]


def _is_no_better(pair: Pair) -> bool:
    means = [e.mean() for e in pair]
    known = [m for m in means if m is not None]
    return len(known) == len(means) and known[2] <= min(known[0], known[1])


def _complements(pair: Pair) -> bool:
    """Return whether each side changed a parameter that the other left as it was."""
    base, one, other = (e.candidate.values for e in (pair.ancestor, pair.one, pair.other))
    return any(one[n] != base[n] == other[n] for n in base) and any(other[n] != base[n] == one[n] for n in base)
