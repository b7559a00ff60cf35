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
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.updating import TestedSettings, estimate_updates, run_updates


class Settings(TestedSettings):
    """Settings of SequentialSearch."""

    num_proposals: int = Field(default=4, ge=1)
    """Proposals per batch."""


@dataclass(frozen=True, slots=True)
class SequentialSearch:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        run_updates(problem, self.settings, num_proposals=self.settings.num_proposals, variant=self.settings.variant)


def build(settings: Settings) -> SequentialSearch:
    """Return the trainer."""
    return SequentialSearch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_updates(settings, shape, num_proposals=settings.num_proposals)
