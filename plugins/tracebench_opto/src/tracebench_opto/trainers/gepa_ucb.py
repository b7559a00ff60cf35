"""GEPA-UCB: GEPA with the parent chosen by an upper confidence bound, for tasks whose scores are noisy.

Source: OpenTrace's `GEPAUCBSearch`, on the loop of the GEPA paper (arXiv 2507.19457). What differs, and why:
OpenTrace's class of that name never uses the bound; here the candidate with the highest UCB1 index is measured again
on a minibatch of the frontier's examples, until repeats have shown that the task repeats itself, and then mutated.
For the rest see `gepa_base`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.proposing.sampling import draw_subset
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.evolution import EvolutionSettings, estimate_evolution, evolve
from tracebench_opto.parts.priority import by_priority
from tracebench_opto.parts.search import Search


class Settings(EvolutionSettings):
    """Settings of GEPA-UCB."""

    merge_every: int = Field(default=5, ge=0)
    """Steps between attempts to merge; 0 for no merging."""
    ucb_exploration_factor: float = Field(default=0.8, ge=0)


@dataclass(frozen=True, slots=True)
class GEPAUCB:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the evolution."""
        evolve(problem, self.settings, choose=self._choose)

    def _choose(self, search: Search, pool: list[Entry]) -> Entry:
        sample = draw_subset(search.selection, self.settings.train_batch_size, rng=search.problem.rng)
        if len(pool) > 1:
            search.recheck(self._ordered(search, pool)[0], sample)
        return self._ordered(search, pool)[0]

    def _ordered(self, search: Search, pool: list[Entry]) -> list[Entry]:
        exploration = self.settings.ucb_exploration_factor
        return by_priority(pool, search.archive, score_function="ucb", exploration=exploration)


def build(settings: Settings) -> GEPAUCB:
    """Return the trainer."""
    return GEPAUCB(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_evolution(settings, shape)
