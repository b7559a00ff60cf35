"""When a training none of whose model calls is answered is given up."""

from __future__ import annotations

from tracebench_core.errors import NoModelAnswered, RecordingLeft

HOPELESS_CALLS = 5
"""So many first calls without an answer end a training."""
LOST_CALLS = 30
"""So many in a row end one that had answers before."""

HOPELESS = frozenset({"auth", "request", "replay_miss"})
"""Kinds of failure that the next call would meet again, as long as none was answered."""


class TrainingBreaker:
    """Ends a training none of whose model calls is answered: whatever a trainer swallows, more of them cost time only."""

    def __init__(self) -> None:
        self._answered = False
        self._failures = 0
        """In a row."""

    def answered(self) -> None:
        """A model answered."""
        self._answered = True
        self._failures = 0

    def failed(self, words: str, *, kind: str) -> None:
        """No model answered.

        Raises:
            NoModelAnswered: when none did so often in a row, or none can.
            RecordingLeft: when a replay that had answers left its recording.
        """
        if self._answered and kind == "replay_miss":
            raise RecordingLeft(words)
        self._failures += 1
        enough = LOST_CALLS if self._answered else 1 if kind in HOPELESS else HOPELESS_CALLS
        if self._failures >= enough:
            which = f"none of {'the last ' if self._answered else ''}{self._failures} model calls was answered"
            raise NoModelAnswered(f"{which}, the last because of: {kind}: {words}")
