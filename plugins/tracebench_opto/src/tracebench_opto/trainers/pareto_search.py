"""ParetoSearch: expand the candidates that no other makes redundant: best on some example, or undominated in the
objectives.

Source: OpenTrace's `ParetobasedPS` (branch `experimental`); the frontier over instances is the GEPA paper's (arXiv
2507.19457). What differs, and why: the frontier is that of validation, where all candidates are measured on the same
examples, and not of whatever training inputs a candidate met; on a task with several objectives the frontier is that
of the objectives, unless `objective_config` says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass

from pydantic import Field

from tracebench_core.contracts import Problem
from tracebench_core.specs import Budget, CostEstimate, TaskShape
from tracebench_opto.parts.cost import estimate_steps, feedback_examples, judged_examples
from tracebench_opto.parts.objectives import ObjectiveConfig
from tracebench_opto.parts.scarcity import Variant, breadth
from tracebench_opto.parts.search import Request, Search, SearchSettings
from tracebench_opto.parts.selection import frontier


class Settings(SearchSettings):
    """Settings of ParetoSearch."""

    variant: Variant = "budget"
    """`budget` narrows steps where calls are scarce; `paper` keeps the published breadth."""
    num_candidates: int | None = Field(default=None, ge=1)
    """Members of the frontier expanded per step: those expanded least so far, among equals those with the best means.
    When None: 2, and fewer where calls are so scarce that they would buy fewer than 20 steps (`variant`)."""
    num_proposals: int | None = Field(default=None, ge=1)
    """Proposals for each of them; likewise."""
    objective_config: ObjectiveConfig | None = None  # type: ignore[assignment]  # None is resolved before the search starts
    """When None: `pareto` on a task that declares several objectives, `scalar` on any other."""

    def broad(self, budget: Budget) -> tuple[int, int]:
        """Return how many members a step expands, and how many proposals it asks for with each."""
        candidates, proposals = breadth(budget, self.variant, (self.num_candidates, 2), (self.num_proposals, 2))
        return candidates, proposals


@dataclass(frozen=True, slots=True)
class ParetoSearch:
    """The trainer."""

    settings: Settings

    def train(self, problem: Problem) -> None:
        """Run the search."""
        cfg = self.settings
        if cfg.objective_config is None:
            mode = ObjectiveConfig(mode="pareto" if len(problem.objectives) > 1 else "scalar")
            cfg = cfg.model_copy(update={"objective_config": mode})
        num_candidates, num_proposals = cfg.broad(problem.budget.caps)
        search = Search(problem, cfg)
        expanded: dict[int, int] = {}
        for _ in search.schedule():
            with problem.step():
                if len(search.archive) == 0:
                    search.seed()
                members = (
                    frontier(list(search.archive), search.archive.goal, search.selection) or search.archive.ranked()
                )
                members.sort(key=lambda e: expanded.get(e.index, 0))
                batch = search.batches.draw()
                parents = members[:num_candidates]
                requests = [Request(parent, search.measure(parent, batch)) for parent in parents]
                proposed = search.propose_all(requests, n=num_proposals)
                for parent, children in zip(parents, proposed, strict=True):
                    expanded[parent.index] = expanded.get(parent.index, 0) + 1
                    search.attempt(search.fresh(children), search.selection, parent=parent, origin="propose")


def build(settings: Settings) -> ParetoSearch:
    """Return the trainer."""
    return ParetoSearch(settings)


def estimate_cost(settings: Settings, shape: TaskShape) -> CostEstimate:
    """Return what one job is expected to use."""
    judged = judged_examples(settings, shape)
    num_candidates, num_proposals = settings.broad(shape.budget)
    proposals = num_candidates * num_proposals
    idle = num_candidates * feedback_examples(settings, shape)
    return estimate_steps(
        settings.planned_steps(shape.train),
        proposals=proposals,
        evaluations=idle + proposals * judged,
        idle_evaluations=idle,
        start=judged,
    )
