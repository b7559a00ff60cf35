"""Curriculum: run any other trainer on the easy examples first, and on all of them in the end.

Source: curriculum learning (Bengio et al. 2009), with the difficulty of an example measured on the way: the lower the
candidates met so far score on it, the harder it is. OpenTrace has no such trainer. Each stage starts from the best
candidate so far and sees a larger part of train, easiest first; validation stays whole, so that candidates of
different stages are comparable.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from pydantic import Field, field_validator

from tracebench_core.contracts import Problem, Trainer
from tracebench_core.proposing.sampling import draw_subset
from tracebench_core.specs import CostEstimate, Spec, TaskShape
from tracebench_opto.parts.cost import estimate_steps
from tracebench_opto.parts.lessons import Difficulty, Stage, StageOver
from tracebench_opto.parts.relay import WRAPPERS


class Settings(Spec):
    """Settings of Curriculum."""

    trainer: str = "PrioritySearch"
    """The trainer that learns: the name of any that is installed."""
    trainer_params: dict[str, Any] = Field(default_factory=dict)
    """Its settings."""
    num_stages: int = Field(default=3, ge=1)
    """The last stage has all of train, and no limit but the trainer's own and the budget."""
    stage_steps: int = Field(default=3, ge=1)
    """Steps of the wrapped trainer in each earlier stage."""
    first_share: float = Field(default=0.34, gt=0, le=1)
    """Part of train in the first stage; it grows evenly to all of it."""
    probe_size: int = Field(default=20, ge=0)
    """Examples of train on which the initial candidate is measured first, to have an order at all; at most a tenth of the budget."""

    @field_validator("trainer")
    @classmethod
    def _not_itself(cls, trainer: str) -> str:
        if trainer in WRAPPERS:
            raise ValueError(f"a curriculum cannot wrap a trainer that wraps others, as `{trainer}` does")
        return trainer


@dataclass(frozen=True, slots=True)
class Curriculum:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the wrapped trainer stage by stage."""
        cfg = self.settings
        difficulty = Difficulty()
        cap = problem.budget.caps.evaluations
        probe = cfg.probe_size if cap is None else min(cfg.probe_size, cap // 10)
        if probe and len(problem.train) > 1:
            sample = draw_subset(problem.train, probe, rng=problem.rng)
            difficulty.note(problem.evaluate(problem.initial, sample, origin="probe"))
        for stage in range(cfg.num_stages - 1):
            share = cfg.first_share + (1 - cfg.first_share) * stage / (cfg.num_stages - 1)
            size = max(1, round(share * len(problem.train)))
            lesson = Stage(
                problem,
                difficulty.order(problem.train)[:size],
                difficulty=difficulty,
                steps=cfg.stage_steps,
                evaluations=None if cap is None else max(1, cap // (cfg.num_stages + 1)),
            )
            with suppress(StageOver):
                self._wrapped(problem).train(lesson)
        self._wrapped(problem).train(Stage(problem, difficulty.order(problem.train), difficulty=difficulty))

    def _wrapped(self, problem: Problem) -> Trainer:
        return problem.trainer(self.settings.trainer, self.settings.trainer_params)


def build(settings: Settings) -> Curriculum:
    """Return the trainer."""
    return Curriculum(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return a rough estimate: one proposal per step, each measured on validation, or on train where there is none."""
    judged = shape.validation or shape.train
    steps = (settings.num_stages - 1) * settings.stage_steps
    return estimate_steps(steps + 10, proposals=1, evaluations=judged, start=min(settings.probe_size, shape.train))
