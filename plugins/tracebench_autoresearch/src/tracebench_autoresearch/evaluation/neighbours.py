"""Who was measured beside whom: neighbours disturb clocks, so each measurement keeps their names."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Neighbours:
    """The measurements of one job that are under way; threads share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._under_way: list[tuple[str, list[str]]] = []

    @contextmanager
    def during(self, candidate: str) -> Iterator[list[str]]:
        """Yield the candidates of all measurements that were under way at any time during this one; complete at its end."""
        mine: tuple[str, list[str]] = (candidate, [])
        with self._lock:
            for other, beside in self._under_way:
                beside.append(candidate)
                mine[1].append(other)
            self._under_way.append(mine)
        try:
            yield mine[1]
        finally:
            with self._lock:
                self._under_way = [one for one in self._under_way if one is not mine]
