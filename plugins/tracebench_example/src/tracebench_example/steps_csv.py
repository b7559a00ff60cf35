"""The logger `StepsCsv`."""

from __future__ import annotations

import csv
from pathlib import Path

from tracebench_core.specs.events import Event, StepFinished


class StepsCsv:
    """Writes a line to `steps.csv` when a step ends."""

    def __init__(self, job_dir: Path) -> None:
        self._file = (job_dir / "steps.csv").open(
            "a", encoding="utf-8", newline=""
        )  # scoring goes on in another process
        self._rows = csv.writer(self._file)
        if not self._file.tell():
            self._rows.writerow(("step", "score", "best", "evaluations"))

    def __call__(self, event: Event, /) -> None:
        """Take the events of interest; an exception here ends the logging and nothing else."""
        if isinstance(event, StepFinished):
            self._rows.writerow((event.index, event.score, event.best, event.used.evaluations))

    def close(self) -> None:
        """Close the file."""
        self._file.close()
