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
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.racing import RacingSettings
from tracebench_opto.parts.updating import UpdateSettings, estimate_updates, run_updates


class Settings(UpdateSettings, RacingSettings):
    """Settings of BasicSearch."""

    num_proposals: int = Field(default=4, ge=1)
    """Proposals per batch."""


@dataclass(frozen=True, slots=True)
class BasicSearch:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        cfg = self.settings
        run_updates(problem, cfg, num_proposals=cfg.num_proposals, compare="selection", racing=cfg.racing)


def build(settings: Settings) -> BasicSearch:
    """Return the trainer."""
    return BasicSearch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_updates(settings, shape, num_proposals=settings.num_proposals, compare="selection")
