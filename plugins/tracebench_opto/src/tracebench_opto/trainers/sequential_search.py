"""SequentialSearch: the best of several proposals replaces the current candidate when it is better on the same batch.

Source: OpenTrace's `opto.features.priority_search.examples.SequentialSearch`, a priority search with a memory of one.
What differs, and why: OpenTrace's never leaves the initial candidate, whose infinite priority fills the memory; here
a child that wins on the batch takes its place. `BasicSearch` is the same with the comparison on all of validation:
surer, and dearer per step.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import Budget, CostEstimate, TaskShape
from tracebench_opto.parts.scarcity import breadth
from tracebench_opto.parts.updating import TestedSettings, estimate_updates, run_updates


class Settings(TestedSettings):
    """Settings of SequentialSearch."""

    num_proposals: int | None = Field(default=None, ge=1)
    """Proposals per batch. When None: 4, and fewer where calls are so scarce that they would buy fewer than 20 steps (`variant`)."""

    def broad(self, budget: Budget) -> int:
        """Return how many proposals a step asks for."""
        return breadth(budget, self.variant, (self.num_proposals, 4))[0]


@dataclass(frozen=True, slots=True)
class SequentialSearch:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        cfg = self.settings
        run_updates(problem, cfg, num_proposals=cfg.broad(problem.budget.caps), variant=cfg.variant)


def build(settings: Settings) -> SequentialSearch:
    """Return the trainer."""
    return SequentialSearch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_updates(settings, shape, num_proposals=settings.broad(shape.budget))
