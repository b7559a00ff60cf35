"""Watches whether the run's provider is away, tells people, and holds back what has not started."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping

log = logging.getLogger(__name__)

INTERVAL = 0.5
"""Seconds between two looks."""


class OutagePause:
    """Asks for the models that are away from a thread of its own. `is_away` is true from the first look that finds one."""

    def __init__(self, ask: Callable[[], Mapping[str, float]], *, limit: float) -> None:
        """`ask` returns the models that are away, with the seconds that they have been; `limit` is told to people, in seconds."""
        self._ask = ask
        self._limit = limit
        self._away: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="outage-watch", daemon=True)
        self._thread.start()

    @property
    def is_away(self) -> bool:
        """Whether a model is awaited."""
        return bool(self._away)

    def close(self) -> None:
        """Look no more. Idempotent."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL):
            try:
                away = set(self._ask())
            except OSError:  # the gateway is just being started again
                continue
            for model in sorted(away - self._away):
                log.warning(
                    "`%s` does not answer any more: the run is paused, and goes on when it does, or fails its calls after %g s"
                    " (llm.outage_limit)",
                    model,
                    self._limit,
                )
            for model in sorted(self._away - away):
                log.warning("`%s` is awaited no more: the run goes on", model)
            self._away = away
