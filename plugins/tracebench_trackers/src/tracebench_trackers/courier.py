"""Carries items to a tracker in a thread of its own, so that no tracker can hold up or hurt a job."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)
MOST_WAITING = 10_000
"""Items; what comes while so many wait is left out."""
Item = TypeVar("Item")


class _End:
    """Comes last."""


class Courier(Generic[Item]):
    """Delivers items in their order. At the first failure it says so once and delivers nothing more."""

    def __init__(self, name: str, deliver: Callable[[Item], None], *, most_waiting: int = MOST_WAITING) -> None:
        self._name = name
        self._deliver = deliver
        self._waiting: queue.Queue[Item | _End] = queue.Queue(most_waiting)
        self._lost = 0
        self._broken = threading.Event()
        self._thread = threading.Thread(target=self._work, name=f"courier of {name}", daemon=True)
        self._thread.start()

    def send(self, item: Item) -> None:
        """Take an item; never waits."""
        try:
            self._waiting.put_nowait(item)
        except queue.Full:
            self._lost += 1

    def close(self, patience: float) -> None:
        """Wait until all is delivered, `patience` seconds at most; warn of what is not."""
        patience = min(patience, threading.TIMEOUT_MAX)
        try:
            self._waiting.put(_End(), timeout=patience)
        except queue.Full:
            self._lost += 1
        self._thread.join(patience)
        if self._broken.is_set():
            return  # told already
        left = self._lost + self._waiting.qsize() + self._thread.is_alive()
        if left:
            log.warning("%s: %d items were not delivered", self._name, left)

    def _work(self) -> None:
        while not isinstance(item := self._waiting.get(), _End):
            if self._broken.is_set():
                continue
            try:
                self._deliver(item)
            except Exception as err:  # noqa: BLE001 - whatever a tracker raises
                self._broken.set()
                log.warning("%s is off: %s: %s", self._name, type(err).__name__, str(err)[:300])
