"""What the gateway's answers have told of a job: how it stands, and its calls in their order."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import Any

from tracebench_core.specs import Usage
from tracebench_gateway.access import Phase, Refusal

_lock = threading.Lock()
_TOLD_AS: dict[Phase, str] = {"training": "refusal", "scoring": "scoring_refusal"}


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603 - in the parent, another thread may have held it
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)


class JobCalls:
    """Takes what answers tell, in whatever order they come. Threads may share it, and a forked child may go on with it.

    A gap is a call whose answer was lost, or told nothing: then there may be records that no answer has told of.
    """

    def __init__(self, *, is_whole: bool) -> None:
        """`is_whole`: nothing was called before the first answer."""
        self.used = Usage()
        self.refusals: dict[Phase, Refusal | None] = {"training": None, "scoring": None}
        self.began: float | None = None
        self._calls = -1
        """How many calls were filed when the standing was told."""
        self._before = 0
        """How many calls there were before the first of the records."""
        self._records: list[Mapping[str, Any]] = []
        self._gaps = 0 if is_whole else 1
        self._closed = 0

    @property
    def is_whole(self) -> bool:
        """Whether there is no gap."""
        return self._closed == self._gaps

    @property
    def last(self) -> int:
        """The number of the last record."""
        return self._before + len(self._records)

    @property
    def gaps(self) -> int:
        """How many gaps there were; whoever asks for what is missing says afterwards that these are closed."""
        return self._gaps

    def begin_after(self, call: int) -> None:
        """Let the records begin after a call, whether or not they did."""
        with _lock:
            if self._before <= call <= self.last:
                del self._records[: call - self._before]
            else:
                self._records, self._gaps = [], self._gaps + 1
            self._before = call

    def records(self) -> list[Mapping[str, Any]]:
        """Return the records."""
        with _lock:
            return list(self._records)

    def hear(self, standing: Mapping[str, Any] | None, *, closed: int = 0) -> None:
        """Take an answer: a standing with the records that follow those told before; None is a gap. It closes the first `closed` gaps."""
        with _lock:
            if standing is None:
                self._gaps += 1
                return
            for record in standing["records"]:
                if record["call"] == self.last + 1:
                    self._records.append(record)
            self._gaps += standing["calls"] > self.last
            self._closed = max(self._closed, closed)
            if standing["calls"] >= self._calls:
                self._calls = standing["calls"]
                self.used = Usage(**standing["used"])
                for phase, name in _TOLD_AS.items():
                    self.refusals[phase] = Refusal(*standing[name]) if standing[name] else None
                self.began = standing["began"]
