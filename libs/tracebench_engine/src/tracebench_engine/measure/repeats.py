"""Measure who leads again from the same inputs: what differs then is the candidate's own chance, or the clock's."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from tracebench_core.errors import BudgetExhausted
from tracebench_core.specs import Candidate, Example, ExampleResult, Split
from tracebench_engine.measure.answer_cache import CachedModels
from tracebench_engine.measure.service import EvaluationService

log = logging.getLogger(__name__)

AT_LEAST = 2
AT_MOST = 5
"""How many times a candidate is measured whose score is itself random; one that is scored by time is measured `AT_LEAST` times."""
MISSED = 2
"""Repeats that may go unmeasured, as one does whose sandbox dies; another is made in the place of each."""
SHARE = 0.8
"""Of the time that scoring may take, that no repeat may pass."""


@dataclass
class Repeats:
    """How the winner of one job is measured again."""

    service: EvaluationService
    heard: CachedModels
    timed: bool = False
    seconds: float | None = None
    """That scoring may take; None for no limit."""
    began: float = field(default_factory=time.monotonic)

    def of(
        self, candidate: Candidate, examples: Sequence[Example], split: Split, first: Sequence[ExampleResult]
    ) -> list[list[ExampleResult]]:
        """Return further measurements of a candidate: one where it comes out as before, and more where it does not.

        There is none where an address of models was handed out, so that the same answers cannot be given again, where something was not
        measured, and where time would not do. A repeat that was not measured says nothing, of the candidate's chance neither.
        """
        found: list[list[ExampleResult]] = []
        if self.heard.has_doors or not _is_measured(first):
            return found
        started, most, missed = time.monotonic(), AT_LEAST, 0
        needed = sum(result.seconds for result in first)
        while len(found) + 1 < most and missed <= MISSED and self._has_time(needed):
            works = [(example, split) for example in examples]
            try:
                with self.heard.repeating():
                    begun = self.service.begin(candidate, works, phase="scoring", repeat=True, same_seed=True)
                    results = [item.result() for item in begun]
            except (Exception, BudgetExhausted) as err:  # noqa: BLE001 - what was measured the first time is kept
                log.warning("%s is not measured again on %s: %s", candidate.id, split, err)
                break
            if _is_measured(results):
                found.append(results)
            else:
                missed += 1
            needed = (time.monotonic() - started) / (len(found) + missed)
            if not self.timed and found and scores_by_example(found[-1]) != scores_by_example(first):
                most = AT_MOST
        return found

    def _has_time(self, needed: float) -> bool:
        return self.seconds is None or time.monotonic() - self.began + needed < SHARE * self.seconds


def _is_measured(results: Sequence[ExampleResult]) -> bool:
    return all(result.feedback.status != "not_measured" for result in results)


def scores_by_example(results: Sequence[ExampleResult]) -> list[tuple[str, float]]:
    """Return status and score of each result, by which two measurements are the same."""
    return [(result.feedback.status, result.feedback.score) for result in results]
