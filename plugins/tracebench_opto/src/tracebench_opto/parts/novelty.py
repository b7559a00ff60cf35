"""How far apart two candidates are, and which of several proposals are worth an evaluation."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any

from tracebench_core.ids import canonical_json
from tracebench_core.specs import Values

Distance = Callable[[Values, Values], float]
Embedding = Callable[[Sequence[str]], Sequence[Sequence[float]]]
"""Texts to vectors of one length."""

_TOKEN = re.compile(r"\w+|[^\w\s]|\n")
LONGEST_MIDDLE = 1500
"""Tokens between the common start and end of two texts up to which they are aligned; beyond, they are compared as bags."""


def edit_distance(a: Values, b: Values) -> float:
    """Return the sum over parameters of how much of each was edited, from 0 to 1 each.

    Of a number it is the relative difference, of anything else the share of tokens that an alignment inserts or deletes, so that one
    changed constant in a long program is a small distance and never none.
    """
    return math.fsum(_edited(a.get(name), b.get(name)) for name in a.keys() | b.keys())


class EmbeddedDistance:
    """The Euclidean distance between embeddings of candidates as canonical JSON; each candidate is embedded once."""

    def __init__(self, embedding: Embedding) -> None:
        self._embedding = embedding
        self._vectors: dict[str, Sequence[float]] = {}

    def __call__(self, a: Values, b: Values) -> float:
        """Return the distance of two candidates."""
        return math.dist(self._vector(a), self._vector(b))

    def _vector(self, values: Values) -> Sequence[float]:
        text = canonical_json(values).decode()
        if text not in self._vectors:
            self._vectors[text] = self._embedding([text])[0]
        return self._vectors[text]


class Net:
    """The epsilon-net of a search, on the scale of its own edits.

    A proposal lies in the net's gaps when its distance to the nearest known candidate is more than `epsilon` times the median of such
    distances among all proposals up to now. What counts as a copy thereby follows the size of the program and of the edits to it.
    """

    def __init__(self, distance: Distance, *, epsilon: float) -> None:
        self._distance = distance
        self._epsilon = epsilon
        self._gaps: list[float] = []

    def admit(self, known: Sequence[Values], proposals: Sequence[Values]) -> list[Values]:
        """Return the proposals that lie in gaps, farthest first, each next one also compared with those before it.

        The farthest is always among them: a step whose proposals are all alike still tries one.
        """
        if not self._epsilon or not proposals:
            return list(proposals)
        gaps = [min((self._distance(p, k) for k in known), default=math.inf) for p in proposals]
        self._gaps += [gap for gap in gaps if math.isfinite(gap)]
        least = self._epsilon * statistics.median(self._gaps) if self._gaps else 0.0
        admitted: list[Values] = []
        left = list(range(len(proposals)))
        while left:
            farthest = max(left, key=lambda i: (gaps[i], -i))
            if admitted and gaps[farthest] <= least:
                break
            admitted.append(proposals[farthest])
            left.remove(farthest)
            for i in left:
                gaps[i] = min(gaps[i], self._distance(proposals[i], proposals[farthest]))
        return admitted


def _edited(a: Any, b: Any) -> float:
    if a == b and (type(a) is type(b) or (_is_number(a) and _is_number(b))):
        return 0.0
    if _is_number(a) and _is_number(b):
        return float(min(1.0, abs(a - b) / (abs(a) + abs(b))))
    return _edited_share(_tokens(a), _tokens(b))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _tokens(value: Any) -> list[str]:
    return _TOKEN.findall(value if isinstance(value, str) else canonical_json(value).decode())


def _edited_share(a: list[str], b: list[str]) -> float:
    """Return the share of the tokens of both that is not part of their alignment; what differs in blanks alone is one token apart."""
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    one, other = a[start : len(a) - end], b[start : len(b) - end]
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    if max(len(one), len(other)) <= LONGEST_MIDDLE:
        alike = sum(block.size for block in matcher.get_matching_blocks())
    else:
        alike = round(matcher.quick_ratio() * (len(one) + len(other)) / 2)
    return max(1, len(one) + len(other) - 2 * alike) / max(1, len(a) + len(b))
