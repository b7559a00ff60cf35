"""BasicSearch: several proposals from each batch's feedback; the best of them and the current candidate, on validation,
goes on.

Source: OpenTrace's `opto.trainer.algorithms.basic_algorithms.BasicSearchAlgorithm`. What differs, and why: the
current candidate is measured on validation once and not in every step, and no separate test pass is made, because the
engine scores the test split itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import Budget, CostEstimate, TaskShape
from tracebench_opto.parts.racing import RacingSettings
from tracebench_opto.parts.scarcity import Variant, breadth
from tracebench_opto.parts.updating import UpdateSettings, estimate_updates, run_updates


class Settings(UpdateSettings, RacingSettings):
    """Settings of BasicSearch."""

    variant: Variant = "budget"
    """`budget` narrows steps where calls are scarce; `paper` keeps the published breadth."""
    num_proposals: int | None = Field(default=None, ge=1)
    """Proposals per batch. When None: 4, and fewer where calls are so scarce that they would buy fewer than 20 steps (`variant`)."""

    def broad(self, budget: Budget) -> int:
        """Return how many proposals a step asks for."""
        return breadth(budget, self.variant, (self.num_proposals, 4))[0]


@dataclass(frozen=True, slots=True)
class BasicSearch:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        cfg = self.settings
        broad = cfg.broad(problem.budget.caps)
        run_updates(problem, cfg, num_proposals=broad, compare="selection", racing=cfg.racing)


def build(settings: Settings) -> BasicSearch:
    """Return the trainer."""
    return BasicSearch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_updates(settings, shape, num_proposals=settings.broad(shape.budget), compare="selection")
