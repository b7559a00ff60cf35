"""The engine's own record of candidates: who was seen, how each scored, and which is best."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import Candidate, ExampleResult, Values


class Coverage(IntEnum):
    """How much of the data a candidate's mean stands on; more of it outranks a higher mean."""

    PART = 0
    TRAIN = 1
    VALIDATION = 2


class Standing(NamedTuple):
    """What candidates are ranked by."""

    coverage: Coverage
    mean: float


@dataclass(slots=True)
class Entry:
    """One candidate and all that was measured of it, by example."""

    candidate: Candidate
    scores: dict[str, list[float]] = field(default_factory=dict)
    failed: set[str] = field(default_factory=set)


class Archive:
    """Candidates by content: equal values are one candidate, whoever proposes them again.

    The best is the candidate with the widest coverage (all of validation, else all of train, else a part), among those the highest mean
    (mean over examples of the mean over repeats), among those the first. An example that could not be measured and has no stand-in score
    keeps a candidate from being best.
    """

    def __init__(self, initial: Values, *, train: Sequence[str], validation: Sequence[str]) -> None:
        self._train = frozenset(train)
        self._validation = frozenset(validation)
        self._entries: dict[str, Entry] = {}
        self._by_content: dict[str, str] = {}
        self.best, _ = self.admit(initial, origin="initial")
        self.best_score: float | None = None
        self._standings: dict[str, Standing] = {}

    def admit(self, values: Values, *, parents: Sequence[str] = (), origin: str = "") -> tuple[Candidate, bool]:
        """Return the candidate that these values are, and whether it is new."""
        content = content_hash(canonical_json(values))
        known = self._by_content.get(content)
        if known is not None:
            return self._entries[known].candidate, False
        candidate = Candidate(id=f"c{len(self._entries)}", values=dict(values), parents=tuple(parents), origin=origin)
        self._by_content[content] = candidate.id
        self._entries[candidate.id] = Entry(candidate)
        return candidate, True

    def record(self, candidate: Candidate, result: ExampleResult, *, failure_score: float | None) -> bool:
        """Take one measurement; return whether the best changed."""
        entry = self._entries[candidate.id]
        score = measured_score(result, failure_score)
        if score is None:
            entry.failed.add(result.example)
        else:
            entry.scores.setdefault(result.example, []).append(score)
        before = self.best.id, self.best_score
        self._rank(candidate.id, self._standing(entry))
        return (self.best.id, self.best_score) != before

    def _rank(self, id_: str, standing: Standing | None) -> None:
        if standing is None:
            self._standings.pop(id_, None)
        else:
            self._standings[id_] = standing
        leader = self._standings.get(self.best.id)
        if id_ == self.best.id or leader is None:
            leader_id = max(self._standings, key=self._standings.__getitem__, default=None)
        else:
            leader_id = id_ if standing is not None and standing > leader else self.best.id
        if leader_id is None:
            self.best_score = None
        else:
            self.best, self.best_score = self._entries[leader_id].candidate, self._standings[leader_id].mean

    def _standing(self, entry: Entry) -> Standing | None:
        if entry.failed or not entry.scores:
            return None
        seen = entry.scores.keys()
        if self._validation and self._validation <= seen:
            return Standing(Coverage.VALIDATION, _mean(entry.scores, self._validation))
        if self._train and self._train <= seen:
            return Standing(Coverage.TRAIN, _mean(entry.scores, self._train))
        return Standing(Coverage.PART, _mean(entry.scores, seen))


def _mean(scores: Mapping[str, list[float]], examples: Collection[str]) -> float:
    chosen = [s for example, s in scores.items() if example in examples]
    return math.fsum(math.fsum(s) / len(s) for s in chosen) / len(chosen)


def measured_score(result: ExampleResult, failure_score: float | None) -> float | None:
    """Return what a result counts for: its score, the task's stand-in for what could not be measured, or nothing."""
    return result.feedback.score if result.feedback.status == "ok" else failure_score


def mean_score(results: Sequence[ExampleResult], failure_score: float | None) -> float | None:
    """Return the mean over a batch, or None when any part of it counts for nothing."""
    scores = [measured_score(r, failure_score) for r in results]
    known = [s for s in scores if s is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(scores) else None
