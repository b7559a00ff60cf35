"""BeamSearch: expand several candidates per depth and keep the best few.

Source: OpenTrace's `opto.trainer.algorithms.beamsearch_algorithm.BeamsearchAlgorithm`. What differs, and why:

* the search is as deep as the budget allows; OpenTrace's default ends after two depths (`max_depth` is an alias of
  `num_steps`);
* the winner of every depth is measured on all of validation, not only the last one, because a budget may end the
  search at any moment;
* proposals that miss a parameter keep the parent's value, and known candidates are not evaluated twice.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.beams import BeamSettings, estimate_beams, run_beams


class Settings(BeamSettings):
    """Settings of BeamSearch."""


@dataclass(frozen=True, slots=True)
class BeamSearch:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        run_beams(problem, self.settings)


def build(settings: Settings) -> BeamSearch:
    """Return the trainer."""
    return BeamSearch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_beams(settings, shape)
