"""A logger that hands readings to a tracker by a courier. A tracker is opened in the courier's thread: opening may hang, too."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

from tracebench_core.specs.events import Event
from tracebench_runs import JobLayout
from tracebench_trackers.closing import closing
from tracebench_trackers.courier import Courier
from tracebench_trackers.readings import Ended, Reading, readings
from tracebench_trackers.settings import Settings


class Tracker(ABC):
    """One job in a tracker, for as long as a process of the job lives: one trains, another scores."""

    @abstractmethod
    def take(self, reading: Reading) -> None:
        """Write a reading."""

    @abstractmethod
    def close(self) -> None:
        """Let go of the job."""


class Sink(ABC):
    """A `JobLogger` on a `Tracker`."""

    model: ClassVar[type[Settings]]

    def __init__(self, job_dir: Path, **settings: Any) -> None:
        """Take the settings.

        Raises:
            ValueError: they are not those of `model`.
        """
        self.job_dir = job_dir
        self.settings = self.model(**settings)
        self._tracker: Tracker | None = None
        self._closed = False
        self._courier: Courier[Reading | None] = Courier(type(self).__name__, self._deliver)

    @abstractmethod
    def open(self) -> Tracker:
        """Return the job in the tracker; the one that an earlier process of it made, where there is one."""

    def __call__(self, event: Event, /) -> None:
        """Hand on what a tracker is told of the event."""
        for reading in readings(event):
            self._courier.send(reading)

    def close(self) -> None:
        """Wait for what is still to be sent, as long as the settings allow. A second time there is nothing to do."""
        if not self._closed:
            self._closed = True
            self._courier.send(None)
            self._courier.close(self.settings.patience)

    def _deliver(self, reading: Reading | None) -> None:
        if reading is not None:
            if self._tracker is None:
                self._tracker = self.open()
            if isinstance(reading, Ended):
                for last in closing(JobLayout(self.job_dir), keep=self.settings.keep):
                    self._tracker.take(last)
            self._tracker.take(reading)
        if self._tracker is not None and (reading is None or isinstance(reading, Ended)):
            self._tracker.close()
            self._tracker = None
