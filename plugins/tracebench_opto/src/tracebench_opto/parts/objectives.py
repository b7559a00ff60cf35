"""What a search maximises: the guide's score, a weighted sum of metrics, or a Pareto order of metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from tracebench_core.errors import ConfigError
from tracebench_core.specs import Feedback, Objective, Spec

Mode = Literal["scalar", "weighted", "pareto"]
Vector = tuple[float, ...]


class ObjectiveConfig(Spec):
    """How several metrics of one task become one order.

    `scalar` takes the guide's score. `weighted` takes the weighted sum of the metrics, each in its own direction. `pareto` puts candidates
    that fewer others dominate first, and the weighted sum breaks ties.
    """

    mode: Mode = "scalar"
    weights: dict[str, float] = Field(default_factory=dict)
    """By metric; the task's own weights where a metric is not named. Metrics that the task does not declare may be added."""
    minimize: tuple[str, ...] = ()
    """Metrics of `weights`, not declared by the task, of which less is better."""


@dataclass(frozen=True, slots=True)
class Goal:
    """An objective config applied to one task."""

    mode: Mode = "scalar"
    objectives: tuple[Objective, ...] = ()

    def value(self, feedback: Feedback) -> float | None:
        """Return the number to maximise, or None when a metric that it needs is missing."""
        if self.mode == "scalar":
            return feedback.score
        vector = self.vector(feedback.metrics)
        if vector is None:
            return None
        return math.fsum(o.weight * x for o, x in zip(self.objectives, vector, strict=True))

    def vector(self, metrics: Mapping[str, float]) -> Vector | None:
        """Return one number per objective, each to be maximised, or None when a metric is missing."""
        if any(o.metric not in metrics for o in self.objectives):
            return None
        return tuple(metrics[o.metric] * (1.0 if o.direction == "maximize" else -1.0) for o in self.objectives)


SCALAR = Goal()
"""The guide's score."""


def resolve_goal(config: ObjectiveConfig, declared: Sequence[Objective]) -> Goal:
    """Return the goal that `config` sets on a task with these objectives.

    Raises:
        ConfigError: when the mode needs metrics and neither the task nor the config names any.
    """
    if config.mode == "scalar":
        return SCALAR
    known = {o.metric for o in declared}
    objectives = [o.model_copy(update={"weight": config.weights.get(o.metric, o.weight)}) for o in declared]
    objectives += [
        Objective(metric=m, direction="minimize" if m in config.minimize else "maximize", weight=w)
        for m, w in sorted(config.weights.items())
        if m not in known
    ]
    if not objectives:
        raise ConfigError(
            f"`objective_config.mode: {config.mode}` needs metrics, and this task declares no objectives",
            hint="set `objective_config.mode: scalar`, or name the metrics in `objective_config.weights`",
        )
    return Goal(config.mode, tuple(objectives))
