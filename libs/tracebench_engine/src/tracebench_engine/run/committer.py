"""Concludes ended jobs beside their scheduling: whatever has ended while one batch was flushed to disk is the next batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tracebench_core.contracts import JobEnd


class Committer:
    """A thread that calls `conclude` with all ends that have come since its last call, in their order.

    Flushing takes as long as the disk likes; neither the workers nor the other flushes wait for it.
    """

    def __init__(
        self,
        conclude: Callable[[Sequence[JobEnd]], None],
        *,
        condition: Callable[[], threading.Condition] = threading.Condition,
        thread: Callable[..., threading.Thread] = threading.Thread,
    ) -> None:
        """`condition` and `thread` are what it waits and runs by; who gives others takes the turns by hand."""
        self._conclude = conclude
        self._changed = condition()
        self._waiting: list[JobEnd] = []
        self._is_busy = False
        self._is_closed = False
        self._error: BaseException | None = None
        self._thread = thread(target=self._serve, name="committer", daemon=True)
        self._thread.start()

    def put(self, end: JobEnd) -> None:
        """Hand over an ended job.

        Raises:
            Exception: what concluding an earlier one raised.
        """
        with self._changed:
            self._raise()
            self._waiting.append(end)
            self._changed.notify_all()

    def drain(self) -> None:
        """Wait until every end that was put is concluded; raises as `put` does."""
        with self._changed:
            self._changed.wait_for(lambda: self._error is not None or not (self._waiting or self._is_busy))
            self._raise()

    def close(self) -> None:
        """Conclude what is left and end the thread; raises as `put` does. Idempotent."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        self._thread.join()
        with self._changed:
            self._raise()

    @property
    def has_waiting(self) -> bool:
        """Whether an end was put that nobody concludes yet."""
        return bool(self._waiting)

    def turn(self) -> bool:
        """Wait for ends, conclude all that are there, and return whether there may be more."""
        if not (batch := self._next()):
            return False
        try:
            self._conclude(batch)
        except BaseException as err:  # noqa: BLE001 - raised again in the thread that schedules
            self._error = err
        with self._changed:
            self._is_busy = False
            self._changed.notify_all()
            return self._error is None

    def _serve(self) -> None:
        while self.turn():
            pass

    def _next(self) -> list[JobEnd]:
        with self._changed:
            self._changed.wait_for(lambda: bool(self._waiting) or self._is_closed)
            batch, self._waiting = self._waiting, []
            self._is_busy = bool(batch)
            return batch

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error
