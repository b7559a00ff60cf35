"""Minibatch: one proposal from each batch's feedback, kept when it improves on that batch.

Source: OpenTrace's `opto.trainer.algorithms.basic_algorithms.MinibatchAlgorithm`. What differs, and why:

* the improvement test is strict: OpenTrace keeps a candidate unless it is worse by more than the threshold, so that a
  tie replaces;
* the test is as large as the budget affords (`variant`): two examples of right or wrong tell little;
* the current candidate is measured on validation every `test_frequency` steps, since no trainer sees the test split
  here;
* what was measured on a batch is not measured again.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.updating import TestedSettings, estimate_updates, run_updates


class Settings(TestedSettings):
    """Settings of Minibatch."""

    ensure_improvement: bool = True
    """Go back to the current candidate when its child is no better on the batch."""
    improvement_threshold: float = Field(default=0.0, ge=0)


@dataclass(frozen=True, slots=True)
class Minibatch:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the updates."""
        cfg = self.settings
        run_updates(
            problem,
            cfg,
            always=not cfg.ensure_improvement,
            threshold=cfg.improvement_threshold,
            variant=cfg.variant,
        )


def build(settings: Settings) -> Minibatch:
    """Return the trainer."""
    return Minibatch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_updates(settings, shape)
