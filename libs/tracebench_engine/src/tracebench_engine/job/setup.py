"""What a `Problem` is made of, apart from its task."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tracebench_core.contracts import Confinement, Optimizer, Problem, Trainer
from tracebench_core.specs import Objective, Start
from tracebench_engine.job.budget import Meter
from tracebench_engine.measure.models import Models
from tracebench_engine.measure.recorder import Recorder
from tracebench_engine.measure.service import EvaluationService
from tracebench_runs.events.ranking import Aggregate, mean


class Workshop(Protocol):
    """Builds what a trainer may ask for by name, as the run's plugins and exclusions have it."""

    def optimizer(self, problem: Problem, name: str | None, kwargs: Mapping[str, Any]) -> Optimizer: ...
    def trainer(self, name: str, settings: Mapping[str, Any]) -> Trainer: ...


@dataclass(frozen=True, slots=True)
class Setup:
    """What a problem is made of, apart from its task."""

    seed: int
    meter: Meter
    models: Models
    recorder: Recorder
    service: EvaluationService
    workshop: Workshop
    confinement: Confinement
    objectives: tuple[Objective, ...] = ()
    worst_score: float | None = None
    aggregate: Aggregate = mean
    content: str = ""
    """The metric that trainers are not shown."""
    start: Start | None = None
