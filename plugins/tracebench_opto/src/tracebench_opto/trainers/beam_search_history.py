"""BeamSearchHistory: a beam search whose proposer sees the best candidates so far with their scores.

Source: OpenTrace's `opto.trainer.algorithms.beamsearch_algorithm.BeamsearchHistoryAlgorithm`; the idea is OPRO's
(arXiv 2309.03409). What differs, and why: OpenTrace appends the history to the feedback text of the expanded
candidate; here it goes to the proposer as evaluations, best last, so that each proposer shows it in its own way and
the feedback stays the guide's.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.beams import BeamSettings, estimate_beams, run_beams


class Settings(BeamSettings):
    """Settings of BeamSearchHistory."""

    num_proposals: int | None = Field(default=1, ge=1)
    """Proposals for each beam."""
    max_history_size: int = Field(default=10, ge=1)
    """Candidates in the history."""


@dataclass(frozen=True, slots=True)
class BeamSearchHistory:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        run_beams(problem, self.settings, history_size=self.settings.max_history_size)


def build(settings: Settings) -> BeamSearchHistory:
    """Return the trainer."""
    return BeamSearchHistory(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_beams(settings, shape)
