"""GEPA-Base: reflective evolution on a Pareto frontier over instances, as the GEPA paper describes it.

Source: GEPA (arXiv 2507.19457, algorithms 1 and 2). A parent is drawn from the candidates that are best on some
example, as often as they are; one parameter of it is mutated from the feedback on a minibatch; only a mutation that
improves on that minibatch is measured on the frontier's examples and joins the pool. This is the paper's row without
merging; `GEPA-Merge` is the one with it. As in gepa 0.1.4, a minibatch without a fault is not sent to a model, the
parameters take turns in each lineage, and the frontier may be that of objectives (`frontier_type`). What differs: gepa
measures a parent anew on each minibatch, ours where it was not measured yet (`cache_evaluation`).
A mutation is tested on as many examples as the budget affords (`variant: paper` for the minibatch alone).
`benchmarks/originals.py gepa` runs both side by side, ours as `paper`.

OpenTrace's `GEPAAlgorithmBase` has no minibatch test (every child joins), crosses parameters at random instead of
merging by lineage, and stores partial updates, so that its result and the agent that it leaves may differ. Ours
follows the paper on these three, because the paper's economy rests on them. A proposer
that can be told is asked for one parameter alone; of what any other returns one change is kept, so that any serves.
"""

from __future__ import annotations

from dataclasses import dataclass

from tracebench_core.contracts import Problem
from tracebench_core.specs import CostEstimate, TaskShape
from tracebench_opto.parts.archive import Entry
from tracebench_opto.parts.contests import contests_of
from tracebench_opto.parts.evolution import EvolutionSettings, estimate_evolution, evolve
from tracebench_opto.parts.search import Search
from tracebench_opto.parts.selection import draw_by_wins


class Settings(EvolutionSettings):
    """Settings of GEPA-Base."""


@dataclass(frozen=True, slots=True)
class GEPABase:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the evolution."""
        evolve(problem, self.settings, choose=self._choose)

    def _choose(self, search: Search, pool: list[Entry]) -> Entry:
        contests = contests_of(self.settings.frontier_type, search)
        return draw_by_wins(pool, search.archive.goal, search.selection, rng=search.problem.rng, contests=contests)


def build(settings: Settings) -> GEPABase:
    """Return the trainer."""
    return GEPABase(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    return estimate_evolution(settings, shape)
