"""The engine's own record of candidates: equal values are one candidate, whoever proposes them again."""

from __future__ import annotations

from collections.abc import Sequence

from tracebench_core.ids import canonical_json, content_hash
from tracebench_core.specs import Candidate, ExampleResult, Values
from tracebench_core.store.ranking import Ranking


class Archive:
    """Candidates by content, each with the id under which the ranking knows it."""

    def __init__(self, initial: Values, ranking: Ranking) -> None:
        self.ranking = ranking
        self._candidates: dict[str, Candidate] = {}
        self._by_content: dict[str, Candidate] = {}
        self.admit(initial, origin="initial")

    def admit(self, values: Values, *, parents: Sequence[str] = (), origin: str = "") -> tuple[Candidate, bool]:
        """Return the candidate that these values are, and whether it is new."""
        content = content_hash(canonical_json(values))
        known = self._by_content.get(content)
        if known is not None:
            return known, False
        id_ = f"c{len(self._candidates)}"
        candidate = Candidate(id=id_, values=dict(values), parents=tuple(parents), origin=origin)
        self._by_content[content] = self._candidates[id_] = candidate
        self.ranking.see(id_)
        return candidate, True

    def find(self, values: Values) -> Candidate | None:
        """Return the candidate that these values are, if it was met."""
        return self._by_content.get(content_hash(canonical_json(values)))

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
