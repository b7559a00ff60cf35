"""Evaluations that were submitted and are not collected yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import Candidate
from tracebench_engine.measure.service import Result


@dataclass(slots=True)
class PendingEvaluation:
    """A `Ticket`: one candidate's batch under way."""

    candidate: Candidate
    step: int | None
    results: Sequence[Result]
    spent: BudgetExhausted | None = None
    """The cap that refused the rest of the batch."""

    @property
    def done(self) -> bool:
        """Whether all of it is measured."""
        return all(result.done() for result in self.results)
