"""Which failed jobs a run does again, after all others, and when."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable

from tracebench_core.specs import JobResult, RetriesConfig

log = logging.getLogger(__name__)
MOST_DOUBLED = 100
"""Times; what is doubled so often is never waited for."""


class Retries:
    """Counts the attempts at every job. `wants` is called in one thread, the rest in another, after it has come to rest."""

    def __init__(self, config: RetriesConfig, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._config = config
        self._clock = clock
        self._done: Counter[str] = Counter()
        self._due: dict[str, float] = {}
        self._waiting: list[str] = []

    def wants(self, result: JobResult) -> bool:
        """Say whether a job that ended like this is run again, and then remember it."""
        config = self._config
        error = result.error.type if result.error is not None else ""
        if result.status != "failed" or self._done[result.job_id] >= config.failed:
            return False
        if config.error_types and error not in config.error_types:
            return False
        self._done[result.job_id] += 1
        number = self._done[result.job_id]
        self._due[result.job_id] = self._clock() + config.backoff * 2.0 ** min(number - 1, MOST_DOUBLED)
        self._waiting.append(result.job_id)
        log.warning(
            "job %s failed (%s) and is run again later, for the %d. of %d times",
            result.job_id, error or result.stop_reason, number, config.failed,
        )  # fmt: skip
        return True

    def is_due(self, job_id: str) -> bool:
        """Say whether a job has waited long enough; one that never failed has."""
        return self._clock() >= self._due.get(job_id, 0.0)

    def take(self) -> list[str]:
        """Return the jobs that are to be run again, and forget them."""
        waiting, self._waiting = self._waiting, []
        return waiting
