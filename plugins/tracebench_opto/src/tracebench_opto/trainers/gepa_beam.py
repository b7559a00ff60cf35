"""GEPA-Beam: GEPA with the parents taken from the few candidates with the best means, in turn.

Source: the beam variant that the GEPA paper (arXiv 2507.19457) compares its frontier with. OpenTrace's
`GEPABeamPareto` runs the loop of GEPA-Base and never calls its own selection; here the beam really selects. For the
rest see `gepa_base`.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.archive import Entry, rank
from tracebench_opto.parts.evolution import EvolutionSettings, estimate_evolution, evolve
from tracebench_opto.parts.search import Search


class Settings(EvolutionSettings):
    """Settings of GEPA-Beam."""

    merge_every: int = Field(default=5, ge=0)
    """Steps between attempts to merge; 0 for no merging."""
    beam_width: int = Field(default=4, ge=1)
    """Candidates that are mutated in turn."""


@dataclass(frozen=True, slots=True)
class GEPABeam:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the evolution."""
        mutations: dict[int, int] = {}

        def choose(search: Search, pool: list[Entry]) -> Entry:
            beam = rank(pool, search.archive.goal)[: self.settings.beam_width]
            parent = min(beam, key=lambda e: mutations.get(e.index, 0))
            mutations[parent.index] = mutations.get(parent.index, 0) + 1
            return parent

        evolve(problem, self.settings, choose=choose)


def build(settings: Settings) -> GEPABeam:
    """Return the trainer."""
    return GEPABeam(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_evolution(settings, shape)
