"""SequentialUpdate: always move on to the newest candidate, as gradient descent does.

Source: OpenTrace's `opto.features.priority_search.examples.SequentialUpdate`, a priority search with a memory of one.
What differs, and why: OpenTrace's never leaves the initial candidate, whose infinite priority fills the memory; here
each step really updates. The engine's archive keeps the best candidate on the way, so that a bad last step loses
nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.updating import UpdateSettings, estimate_updates, run_updates


class Settings(UpdateSettings):
    """Settings of SequentialUpdate."""


@dataclass(frozen=True, slots=True)
class SequentialUpdate:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the updates."""
        run_updates(problem, self.settings, always=True)


def build(settings: Settings) -> SequentialUpdate:
    """Return the trainer."""
    return SequentialUpdate(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_updates(settings, shape)
