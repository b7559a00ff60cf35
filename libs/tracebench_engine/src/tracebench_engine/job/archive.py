"""The engine's own record of candidates: equal values are one candidate, whoever proposes them again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence

from tracebench_core.errors import UsageError
from tracebench_core.ids import canonical_json
from tracebench_core.specs import Candidate, ExampleResult, Start, Values
from tracebench_runs.events.ranking import Ranking


class Archive:
    """Candidates by content, each with the id under which the ranking knows it."""

    def __init__(self, initial: Values, ranking: Ranking) -> None:
        self.ranking = ranking
        self._candidates: dict[str, Candidate] = {}
        self._by_content: dict[bytes, Candidate] = {}
        self.admit(initial, origin="initial")

    def admit(self, values: Values, *, parents: Sequence[str] = (), origin: str = "") -> tuple[Candidate, bool]:
        """Return the candidate that these values are, and whether it is new."""
        content = _key(values)
        known = self._by_content.get(content)
        if known is not None:
            return known, False
        id_ = f"c{len(self._candidates)}"
        candidate = Candidate(id=id_, values=dict(values), parents=tuple(parents), origin=origin)
        self._by_content[content] = self._candidates[id_] = candidate
        self.ranking.see(id_)
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
        return self._by_content.get(_key(values))

    def record(self, candidate: Candidate, result: ExampleResult) -> bool:
        """Take one measurement; return whether the best changed, or its score."""
        feedback = result.feedback
        return self.ranking.record(
            candidate.id, result.example, score=feedback.score, status=feedback.status, metrics=feedback.metrics
        )

    def candidate(self, id_: str) -> Candidate:
        """Return a candidate by its id."""
        return self._candidates[id_]

    @property
    def best(self) -> Candidate:
        """The best candidate; the initial one at first."""
        return self._candidates[self.ranking.best]


def _key(values: Values) -> bytes:
    return hashlib.sha256(canonical_json(values)).digest()
