"""When a run ends because none of its first jobs found a model that answers."""

from __future__ import annotations

from tracebench_core.errors import NoModelAnswered
from tracebench_core.specs import JobResult

HOPELESS_JOBS = 5
"""So many first jobs without an answer end a run: the others would fail in the same way."""


class RunBreaker:
    """Takes the results of one run's jobs as they come."""

    def __init__(self) -> None:
        self._answered = False
        self._failed = 0

    def adds_up(self, result: JobResult) -> bool:
        """Take a result; tell whether by now so many jobs failed for want of a model, and no job was answered, that it is hopeless."""
        self._answered = self._answered or any(u.llm_calls or u.cached_calls for u in result.usage.values())
        self._failed += result.error is not None and result.error.type == NoModelAnswered.__name__
        return not self._answered and self._failed >= HOPELESS_JOBS
