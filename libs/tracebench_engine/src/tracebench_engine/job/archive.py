"""The engine's own record of candidates: equal values are one candidate, whoever proposes them again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence

from tracebench_core.errors import UsageError
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Candidate, ExampleResult, Start, Values
from tracebench_runs.events.many import Shelf
from tracebench_runs.events.ranking import Ranking


class Archive:
    """Candidates by content, each with the id under which the ranking knows it."""

    def __init__(self, initial: Values, ranking: Ranking) -> None:
        self.ranking = ranking
        self._candidates = Shelf(_packed, _unpacked)
        """By the number in their ids."""
        self._by_content: dict[bytes, int] = {}
        self.admit(initial, origin="initial")

    def admit(self, values: Values, *, parents: Sequence[str] = (), origin: str = "") -> tuple[Candidate, bool]:
        """Return the candidate that these values are, and whether it is new."""
        content = _key(values)
        known = self._by_content.get(content)
        if known is not None:
            return self._candidates.get(known), False
        number = len(self._by_content)
        candidate = Candidate(id=f"c{number}", values=dict(values), parents=tuple(parents), origin=origin)
        self._by_content[content] = number
        self._candidates.append(candidate)
        self.ranking.see(candidate.id)
        return candidate, True

    def begin_from(self, start: Start, check: Callable[[Values], str]) -> list[str]:
        """Admit the candidates of another job, each with where it comes from, and return the ids of those that are new.

        Raises:
            UsageError: when one of them does not fit the task as it is now, for the reason that `check` returns.
        """
        new = []
        for values, id_ in zip(start.values, start.candidates, strict=True):
            source = f"{start.run}/{start.job}/{id_}"
            if why := check(values):
                raise UsageError(f"Candidate {source} does not fit this task: {why}")
            candidate, is_new = self.admit(values, origin=f"from {source}")
            new += [candidate.id] if is_new else []
        return new

    def find(self, values: Values) -> Candidate | None:
        """Return the candidate that these values are, if it was met."""
        known = self._by_content.get(_key(values))
        return None if known is None else self._candidates.get(known)

    def record(self, candidate: Candidate, result: ExampleResult) -> bool:
        """Take one measurement; return whether the best changed, or its score."""
        feedback = result.feedback
        return self.ranking.record(
            candidate.id, result.example, score=feedback.score, status=feedback.status, metrics=feedback.metrics
        )

    def candidate(self, id_: str) -> Candidate:
        """Return a candidate by its id."""
        number = int(id_[1:]) if id_[1:].isdecimal() else -1
        if not 0 <= number < len(self._by_content) or id_ != f"c{number}":
            raise KeyError(id_)
        return self._candidates.get(number)

    @property
    def best(self) -> Candidate:
        """The best candidate; the initial one at first."""
        return self.candidate(self.ranking.best)


def _key(values: Values) -> bytes:
    return hashlib.sha256(canonical_json(values)).digest()[:16]


def _packed(candidate: Candidate) -> bytes:
    return json.dumps([candidate.id, candidate.values, candidate.parents, candidate.origin]).encode()


def _unpacked(packed: bytes) -> Candidate:
    id_, values, parents, origin = json.loads(packed)
    return Candidate(id=id_, values=values, parents=tuple(parents), origin=origin)
