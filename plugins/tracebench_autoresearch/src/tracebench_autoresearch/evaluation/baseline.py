"""The metrics of the initial files, for guards that compare a candidate with them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path

from tracebench_autoresearch.evaluation.measuring import measure
from tracebench_autoresearch.experiment import SystemExperiment
from tracebench_autoresearch.sources.snapshot import Snapshot
from tracebench_core.contracts import Context

SEED = 1
"""The same for every process: what a guard allows depends neither on who asks first nor on what was measured before."""


class Baseline:
    """Measures the initial files once, when a guard first needs them."""

    def __init__(self, experiment: SystemExperiment, python: Path | None) -> None:
        self._experiment, self._python = experiment, python
        self._lock = threading.Lock()
        self._metrics: Mapping[str, float] | None = None

    def metrics(self, initial: Snapshot, context: Context) -> Mapping[str, float]:
        """Return the metrics; none where no guard compares with them, or the initial files do not measure."""
        if all(metric.may_worsen is None for metric in self._experiment.all_metrics):
            return {}
        with self._lock:
            if self._metrics is None:
                measured = measure(
                    self._experiment, initial, context, seed=SEED, initial=initial, baseline={}, python=self._python
                )
                self._metrics = measured.metrics if measured.outcome == "measured" else {}
            return self._metrics
